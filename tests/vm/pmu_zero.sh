# Without -icount this emulated PMU accepts events for instructions (raw 0x08) and stalled cycles, but never counts them. The
# second CPU goes offline and online while ktop runs.
. /lib.sh
frames() { # waits for N more frames
    frames_come $(($(wc -l </tmp/frames) + $1)) 30
}
: >/tmp/frames
ktop --batch --pane cpus --format json -d 0.4 -e r008,r011 >/tmp/frames & ktop=$!
frames 1
loads=
for cpu in 1 2; do
    taskset $cpu sh -c 'while :; do :; done' &
    loads="$loads $!"
done
i=0
until [ "$(tail -n 1 /tmp/frames | grep -o '"state":"stays 0"' | wc -l)" = 2 ]; do
    i=$((i + 1))
    [ $i -lt 100 ] || break # the check reports it
    sleep 0.2
done
kill $loads $ktop
wait $ktop
tail -n 1 /tmp/frames | sed 's/^/frame zero /'
: >/tmp/frames
ktop --batch --pane cpus --format json -d 0.3 >/tmp/frames & ktop=$!
frames 2
echo 0 >/sys/devices/system/cpu/cpu1/online || fail "cannot take CPU 1 offline"
frames 4
echo 1 >/sys/devices/system/cpu/cpu1/online || fail "cannot take CPU 1 online"
frames 8
kill -TERM $ktop
wait $ktop
sed 's/^/frame hotplug /' /tmp/frames
