# A client in a container connects again and again, until it has no local port left.
from incident import contained

contained("local_ports")
