# With -icount the emulated CPU executes one instruction per 2 ns at 1000 MHz: 0.5 instructions per cycle. Then twelve more events share the PMU's
# counters (six, and one for cycles). Finally pinned events of another process take all counters: ktop must report that, not zeros.
. /lib.sh
for i in 1 2; do sh -c 'while :; do :; done' & done
ktop --doctor | grep -i -E 'hardware counters'
ktop --batch --pane cpus --format json -n 2 -d 0.3 >/tmp/frames || fail "exit status $?"
sed 's/^/frame alone /' /tmp/frames
ktop --batch --pane cpus --format json -n 2 -d 0.7 -e cycles,instructions,r008,r011,r008,r011,r008,r011,r008,r011,r008,r011 >/tmp/frames || fail "exit status $?"
sed 's/^/frame shared /' /tmp/frames
pmu_hold & holder=$!
sleep 0.2
ktop --batch --pane cpus --format json -n 2 -d 0.3 >/tmp/frames || fail "exit status $?"
sed 's/^/frame held /' /tmp/frames
kill -0 $holder || fail "pmu_hold has exited"
kill $(jobs -p)
