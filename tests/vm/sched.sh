# Exact switch counts of a known ping-pong, and the correct cause for threads that are stuck on a lock, a vfork child, their cgroup's
# CPU limit or a real-time task.
. /lib.sh
frames() { # number of frames so far
    wc -l </tmp/frames
}
after() { # waits for N more frames
    frames_come $(($(frames) + $1)) 15
}
# rows NAME TID [FILE]: prints the thread's rows of the last frames.
rows() {
    tail -n 4 "${3:-/tmp/frames}" | grep -o "{\"pid\":[^{}]*\"tid\":$2,[^{}]*}" | sed "s/^/row $1 /"
}

mkdir -p /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup || fail "no cgroup2"
echo +cpu >/sys/fs/cgroup/cgroup.subtree_control || fail "no cpu controller"
mkdir /sys/fs/cgroup/limited && echo "10000 100000" >/sys/fs/cgroup/limited/cpu.max || fail "cannot set the CPU limit"

ktop --batch --pane sched --format json -d 0.4 >/tmp/frames 2>/tmp/errors &
watcher=$!
: >/tmp/frames
after 2

sched_load pingpong 2000 0 >/tmp/pids &
sched_load flock /tmp/locked >/tmp/flock &
sched_load mutex >/tmp/mutex &
sched_load vfork >/tmp/vfork &
sched_load pipe >/tmp/pipe &
sched_load burn 0 0 >/tmp/burn &
i=0
until [ -s /tmp/pids ] && [ -s /tmp/flock ] && [ -s /tmp/mutex ] && [ -s /tmp/vfork ] && [ -s /tmp/pipe ] && [ -s /tmp/burn ]; do
    i=$((i + 1))
    [ $i -lt 200 ] || fail "the loads did not start"
    sleep 0.05
done
cat /tmp/burn >/sys/fs/cgroup/limited/cgroup.procs
after 5
read -r ping pong </tmp/pids
for pid in $ping $pong; do
    echo "truth $pid $(awk '/ctxt_switches/ { n += $2 } END { print n }' /proc/$pid/status)"
done
rows ping "$ping"
rows pong "$pong"
echo "holders $(cut -d' ' -f1 /tmp/flock) $(cut -d' ' -f1 /tmp/mutex)"
rows flock "$(cut -d' ' -f2 /tmp/flock)"
rows mutex "$(cut -d' ' -f2 /tmp/mutex)"
rows vfork "$(cat /tmp/vfork)"
rows pipe "$(cat /tmp/pipe)"
rows throttled "$(cat /tmp/burn)"

sched_load burn 1 0 >/tmp/victim &
sleep 0.3
sched_load burn 1 30 >/tmp/hog &
hog=$!
i=0
until grep -q '"kind":"realtime"[^{}]*rt_hog' /tmp/frames; do # the hog may delay ktop itself for a while
    i=$((i + 1))
    [ $i -lt 400 ] || break
    sleep 0.05
done
grep '"kind":"realtime"' /tmp/frames | tail -n 4 >/tmp/last
rows realtime "$(cat /tmp/victim)" /tmp/last
echo "hog $(cat /tmp/hog)"
kill -KILL $hog
tail -n 1 /tmp/frames | grep -o '"notes":.*' | sed 's/^/end /'
kill -TERM $watcher
wait $watcher
none_left
