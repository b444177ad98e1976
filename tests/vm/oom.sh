# The machine runs out of memory: the finding names the killed process and the machine's memory. Then a cgroup (v2) reaches its limit:
# another process, which holds far more memory, must not be named.
. /lib.sh
mkdir -p /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup || fail "no cgroup2"
echo +memory >/sys/fs/cgroup/cgroup.subtree_control || fail "no memory controller"
group=/sys/fs/cgroup/small
mkdir $group && echo 48M >$group/memory.max || fail "cannot set the limit"
ktop --batch --pane triage --format json -d 0.7 >/tmp/frames 2>/tmp/errors &
watcher=$!
frames_come 3 60
echo 1 >/proc/sys/vm/overcommit_memory # allows allocations beyond the available memory
# It holds its whole block in memory, and the kernel kills it first: only it, although its memory is free only later.
sh -c 'echo 1000 >/proc/self/oom_score_adj; exec dd if=/dev/zero of=/dev/null bs=1900M count=1' 2>/dev/null
echo "killed $?"
frames_come $(($(wc -l </tmp/frames) + 4)) 60
echo "group begins"
mkfifo /tmp/stay /tmp/grow
dd if=/dev/zero bs=300M count=1 2>/dev/null >/tmp/stay & # holds its block, because the FIFO has no reader
sh -c "echo \$\$ >$group/cgroup.procs; exec /bin/tail -c 100000000" </tmp/grow >/dev/null & # holds all its input
holder=$!
exec 8<>/tmp/stay 9>/tmp/grow
dd if=/dev/zero bs=1M count=30 2>/dev/null >&9
frames_come $(($(wc -l </tmp/frames) + 3)) 60
echo "held $(awk '/VmRSS/ { print $2 }' /proc/$holder/status) in $(cat /proc/$holder/cgroup)"
dd if=/dev/zero bs=1M count=60 2>/dev/null >&9 # until tail is killed
wait $holder
echo "in the group killed $? of $(grep '^oom_kill ' $group/memory.events): $holder"
frames_come $(($(wc -l </tmp/frames) + 4)) 60
ktop_end
sed 's/^/frame /' /tmp/frames
none_left
