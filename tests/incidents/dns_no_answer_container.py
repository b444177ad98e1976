# A name server does not answer; a program in a container looks up names.
from incident import contained

contained("dns_no_answer")
