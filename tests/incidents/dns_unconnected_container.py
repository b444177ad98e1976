# A name server elsewhere does not answer; a program in a container uses a new unconnected socket for each query.
from incident import contained

contained("dns_unconnected")
