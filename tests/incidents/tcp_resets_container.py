# A client in a container opens connections that are reset.
from incident import contained

contained("tcp_resets")
