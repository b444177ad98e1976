# With counted instructions the emulated processor does one in 2 ns and has 1000 MHz: 0.5 instructions a cycle, exactly known.
. /lib.sh
for i in 1 2; do sh -c 'while :; do :; done' & done
ktop --doctor | grep -i -E 'count|perf|cycle|pmu'
ktop --batch --pane cpus --format json -n 3 -d 1 >/tmp/frames || fail "exit status $?"
sed 's/^/frame /' /tmp/frames
kill $(jobs -p)
