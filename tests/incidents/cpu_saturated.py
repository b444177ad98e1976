# A program computes with four times as many processes as there are CPUs.
import os

from incident import decoy, go, python

decoy()
workers = [python("cruncher", "while True:\n    pass") for _ in range(4 * len(os.sched_getaffinity(0)))]
go(*((worker, "cruncher") for worker in workers))
