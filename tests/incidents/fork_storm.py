# A script starts short programs one after the other.
from incident import decoy, go, start

decoy()
go((start("spawner", ["sh", "-c", "while :; do /bin/true; done"]), "spawner"))
