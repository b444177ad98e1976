# With -icount shift=N the emulated CPU runs at 1000 MHz with exactly 1/2^N instructions per cycle.
. /lib.sh
counted spin & # keeps the CPU busy: the idle task's counts do not have the emulator's IPC
spin=$!
counted_round threads 0 --threads
kill $spin
