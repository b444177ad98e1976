# A receiver of UDP in a container reads too slowly.
from incident import contained

contained("udp_drops")
