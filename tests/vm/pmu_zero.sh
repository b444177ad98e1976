# Without counted instructions this emulated PMU takes the events for instructions (raw 0x08) and stalled cycles, and never counts one of them. The
# second processor goes and comes back while ktop looks.
. /lib.sh
for cpu in 1 2; do nice -n 19 taskset $cpu sh -c 'while :; do :; done' & done
loads=$(jobs -p)
ktop --batch --pane cpus --format json -n 3 -d 0.4 -e r008,r011 >/tmp/frames || fail "exit status $?"
sed 's/^/frame zero /' /tmp/frames
kill $loads
ktop --batch --pane cpus --format json -d 0.3 >/tmp/frames & ktop=$!
frames() { # so many more
    want=$(($(wc -l </tmp/frames) + $1)) i=0
    until [ "$(wc -l </tmp/frames)" -ge $want ]; do
        i=$((i + 1))
        [ $i -lt 150 ] || fail "no frame within 15 s"
        sleep 0.1
    done
}
frames 1
echo 0 >/sys/devices/system/cpu/cpu1/online || fail "CPU 1 stays"
frames 3
echo 1 >/sys/devices/system/cpu/cpu1/online || fail "CPU 1 stays away"
frames 4
kill -TERM $ktop
wait $ktop
sed 's/^/frame hotplug /' /tmp/frames
