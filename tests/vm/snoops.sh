# Presets of the events pane: whole paths of static programs, absolute and relative; mounts; process lives with known ends; TCP connections;
# a module. tests/vm/snoops.check compares them with what this script did.
. /lib.sh
ip link set lo up
ktop --batch --pane events --preset exec,open,mount,tcplife,module --format json -d 1 >/tmp/frames 2>/tmp/errors &
watcher=$!
recording_begins 60
mkdir -p /tmp/names /mnt
i=0
while [ $i -lt 20 ]; do
    cat "/tmp/names/absolute$i" 2>/dev/null
    (cd /tmp/names && cat "./relative$i" 2>/dev/null)
    i=$((i + 1))
done
/bin/busybox mount -t tmpfs -o size=1m,mode=0700 snoopsource /mnt || fail "mount"
/bin/busybox umount /mnt || fail "umount"
/bin/busybox sh -c 'exit 7'
/bin/busybox sh -c 'kill -KILL $$'
/bin/busybox sh -c 'kill -TERM $$'
i=0
while [ $i -lt 5 ]; do
    nc -l -p 5001 -e cat >/dev/null & # nc ends when its peer does, so the server speaks only after the client
    server=$!
    while ! grep -q ':1389 .* 0A ' /proc/net/tcp /proc/net/tcp6 2>/dev/null; do sleep 0.05; done
    echo hello | nc 127.0.0.1 5001 >/dev/null
    wait $server
    i=$((i + 1))
done
if rmmod dummy 2>/dev/null && insmod /modules/dummy.ko; then
    echo "module dummy"
fi
frames_come $(($(wc -l </tmp/frames) + 3)) 60
ktop_end
sed 's/^/frame /' /tmp/frames
none_left
