# A client in a container opens and closes connections until every local port is in TIME-WAIT.
from incident import contained

contained("local_ports_time_wait")
