# A machine that runs out of memory: what the kernel killed is told of, and that it was the machine's memory.
. /lib.sh
ktop --batch --pane triage --format json -d 0.7 >/tmp/frames 2>/tmp/errors &
watcher=$!
frames_come 3 60
echo 1000 >/proc/self/oom_score_adj # of what this shell starts from here on: the kernel takes it first
echo 1 >/proc/sys/vm/overcommit_memory # more than there is may be asked for
dd if=/dev/zero of=/dev/null bs=1900M count=1 2>/dev/null # holds all that it reads
echo "killed $?"
echo 0 >/proc/self/oom_score_adj
frames_come $(($(wc -l </tmp/frames) + 4)) 60
ktop_end
sed 's/^/frame /' /tmp/frames
none_left
