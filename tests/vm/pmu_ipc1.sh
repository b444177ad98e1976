# With counted instructions the emulated processor does one in 2 ns and has 1000 MHz: 0.5 instructions a cycle. Twelve more events than the PMU has
# counters for (six, and one for cycles) then share it. Pinned ones that take all of it leave nothing: said so, never zeros.
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
kill -0 $holder || fail "nobody held the PMU"
kill $(jobs -p)
