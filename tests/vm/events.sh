# Events by name on a CPU with a PMU. With -icount the reference is exact: 0.5 instructions per cycle at 1000 MHz.
. /lib.sh
ls /sys/bus/event_source/devices
pmu=$(cd /sys/bus/event_source/devices && ls -d armv8_*)
sh -c 'while :; do :; done' &
busy=$!
# several names of one event must have equal counts; r03 opens but stays 0; twelve events share six counters
ktop --batch --pane cpus --format json -n 3 -d 1 -e "{cycles:u,instructions:u},$pmu/cpu_cycles/u,r11:u,$pmu/event=0x8/u,CPU_CYCLES:u" >/tmp/frames || fail "exit status $?"
sed 's/^/names /' /tmp/frames
ktop --batch --pane cpus --format json -n 3 -d 1 -e 'r03,cycles:k,L1-dcache-load-misses,{cycles,1:99,cs}' >/tmp/frames || fail "exit status $?"
sed 's/^/silent /' /tmp/frames
ktop --batch --pane cpus --format json -n 3 -d 1 -e r11:u,r11:u,r11:u,r11:u,r11:u,r11:u,r08:u,r08:u,r08:u,r08:u,r08:u,r08:u >/tmp/frames || fail "exit status $?"
sed 's/^/shared /' /tmp/frames
ktop --batch --pane cpus --format json -n 2 -d 1 -e '{r11:u,r08:u,r11:u,r08:u,r11:u,r08:u,r11:u,r08:u}' -e '{r11:u,r08:u,r11:u,r08:u,r11:u,r08:u,r11:u,r08:u}:W' >/tmp/frames || fail "exit status $?"
sed 's/^/large /' /tmp/frames
kill $busy
# 300 runs of cat, which calls read twice each
(sleep 0.5; i=0; while [ $i -lt 300 ]; do cat /proc/version >/dev/null; i=$((i + 1)); done) &
ktop --batch --pane cpus --format json -n 4 -d 1 -e kprobe:vfs_read,kretprobe:vfs_read,cs,syscalls:sys_enter_execve >/tmp/frames || fail "exit status $?"
sed 's/^/probes /' /tmp/frames
for event in "$pmu/cpu_cycels/" cycels "$pmu/event=0x10000/" nopmu/x/ '{cycles' cycles:Z; do
    ktop --batch -n 1 -e "$event" >/dev/null 2>/tmp/errors
    echo "wrong $? $(cat /tmp/errors)"
done
ktop --list events >/tmp/list || fail "--list events: $?"
grep -v tracepoint /tmp/list | sed 's/^/list /'
grep -c tracepoint /tmp/list | sed 's/^/tracepoints /'
