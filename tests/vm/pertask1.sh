# With counted instructions (-icount shift=N) the emulated processor has 1000 MHz and does 1/2^N instructions a cycle, exactly known.
. /lib.sh
counted spin & # no time is idle: what the idle task counts is not the emulator's IPC
spin=$!
counted_round threads 0 --threads
counted_round processes 0
counted_round crowded 12
kill $spin
