# A server in a container does not accept; clients connect.
from incident import contained

contained("listen_drops")
