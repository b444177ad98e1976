# Programs that count their own system calls, compared with the syscalls pane.
. /lib.sh
ktop --batch --pane syscalls --format json -d 1 --budget 100 >/tmp/frames 2>/tmp/errors &
watcher=$!
frames_come 1 10
for load in "mix 50" "signals 3" "sleep 20" "spin 5000"; do
    echo go | syscalls_load $load >/tmp/truth || fail "the load failed"
    sed "s/^/truth $load: /" /tmp/truth
done
sleep 2.3
ktop_end
grep -o '{"pid":[^{}]*"comm":"syscalls_load"[^{}]*}' /tmp/frames | sed 's/^/row /'
grep -o '"series":{[^{}]*}' /tmp/frames | sed 's/^"series":/series /'
none_left
ktop --doctor | grep "syscall events"
