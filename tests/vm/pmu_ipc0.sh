# With -icount the emulated CPU executes one instruction per 2^SHIFT ns at 1000 MHz: 1 instruction per cycle for SHIFT 0, 0.25 for SHIFT 2.
. /lib.sh
sh -c 'while :; do :; done' &
ktop --batch --pane cpus --format json -n 2 -d 0.3 >/tmp/frames || fail "exit status $?"
sed 's/^/frame alone /' /tmp/frames
kill $(jobs -p)
