# The events pane: programs with known arguments, their exits, and known signals, on kernels with other event formats.
. /lib.sh
ktop --batch --pane events --preset exec,exit,kill,marker --stacks --format json -d 1 >/tmp/frames 2>/tmp/errors &
watcher=$!
recording_begins 60
i=0
while [ $i -lt 30 ]; do
    /bin/busybox true "arg$i" "two words"
    i=$((i + 1))
done
echo "marker $i" >/sys/kernel/tracing/trace_marker
/bin/busybox sleep 100 &
sleeper=$!
sleep 0.5
for signal in CONT URG TERM; do
    kill -$signal $sleeper
done
wait $sleeper
frames_come $(($(wc -l </tmp/frames) + 3)) 60
ktop_end
echo "shell $$ sleeper $sleeper"
sed 's/^/frame /' /tmp/frames
none_left
