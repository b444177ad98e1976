# Without counted instructions this emulated PMU takes the events for instructions (raw 0x08) and stalled cycles, and never counts one of them. The
# second processor goes and comes back while ktop looks.
. /lib.sh
frames() { # so many more
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
    [ $i -lt 100 ] || break # the check tells
    sleep 0.2
done
kill $loads $ktop
wait $ktop
tail -n 1 /tmp/frames | sed 's/^/frame zero /'
: >/tmp/frames
ktop --batch --pane cpus --format json -d 0.3 >/tmp/frames & ktop=$!
frames 2
echo 0 >/sys/devices/system/cpu/cpu1/online || fail "CPU 1 stays"
frames 4
echo 1 >/sys/devices/system/cpu/cpu1/online || fail "CPU 1 stays away"
frames 8
kill -TERM $ktop
wait $ktop
sed 's/^/frame hotplug /' /tmp/frames
