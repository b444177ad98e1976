# A client in a container never closes the sockets that its server has closed.
from incident import contained

contained("close_wait")
