# A receiver of a TCP connection in a container does not read; the sender waits.
from incident import contained

contained("zero_window")
