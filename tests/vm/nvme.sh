# NVMe: a multipath disk with two paths, whose requests carry the device numbers of hidden disks, and which loses one path; a single-path disk;
# discards of many ranges, which the block layer merges into one request; zone append commands.
. /lib.sh
several=
single=
i=0
until [ -n "$several" ] && [ -n "$single" ]; do
    i=$((i + 1))
    [ $i -lt 200 ] || fail "the disks did not appear: $(ls /sys/block)"
    sleep 0.05
    for disk in /sys/block/nvme*; do
        [ -e $disk/dev ] || continue
        if [ -e $disk/mq ]; then single=$(basename $disk); else several=$(basename $disk); fi
    done
done
[ "$(ls -d /sys/block/nvme*c*n* | wc -l)" = 2 ] || fail "expected two paths: $(ls /sys/block)"
sleep 0.5 # until the kernel has read their partition tables

set -- /sys/block/nvme*c*n*
path=$2
# An NVMe loop target on a zoned disk: nothing else in these kernels sends zone appends to it.
if ! grep -qx nvme_loop /modules/absent; then
    disk zoned zoned=1 zone_size=4
    target=/sys/kernel/config/nvmet
    mkdir $target/subsystems/zones $target/subsystems/zones/namespaces/1 $target/ports/1 || fail "no target"
    echo 1 >$target/subsystems/zones/attr_allow_any_host
    echo /dev/$zoned >$target/subsystems/zones/namespaces/1/device_path
    echo 1 >$target/subsystems/zones/namespaces/1/enable || fail "no namespace"
    echo loop >$target/ports/1/addr_trtype
    ln -s $target/subsystems/zones $target/ports/1/subsystems/zones || fail "no port"
    echo transport=loop,nqn=zones >/dev/nvme-fabrics || fail "no connection"
    i=0
    until file=$(grep -lx host-managed /sys/block/nvme[0-9]n1/queue/zoned); do
        i=$((i + 1))
        [ $i -lt 100 ] || fail "the target's disk did not appear: $(ls /sys/block)"
        sleep 0.05
    done
    front=$(basename ${file%/queue/zoned})
fi
# dm with a stride: adjacent chunks are far apart on the disk below.
dm over /dev/$single 2048 5
io_load /dev/$over read 1 1 4096 random >/dev/null
cp /bin/io_load /bin/small
sleep 0.5
watch disk 0.5
for disk in $several $single; do
    sized $disk read 200 4 4096
    sized $disk write 200 4 65536
    sized $disk fsync 40 1 4096
    sized $disk zero 20 1 65536
    sized $disk discard 20 1 1048576
done
# Discards of 8 MB, which are eight of 1 MB below, in parallel with discards of another program.
small /dev/$single discard 100 2 65536 random >/tmp/small &
other=$!
sized $over discard 20 1 8388608
sized $over discard 40 3 8388608
wait $other
echo "load $single 0 small 2 $(cat /tmp/small) bytes 65536"
[ -z "$front" ] || echo "load $front 0 append 1 $(zone_append /dev/$front 60 8192 3) bytes 8192"
# One path is removed with I/O in flight; I/O continues on the other.
sized $several mix 4000 8 4096 >/tmp/mix &
mixer=$!
sleep 0.2
echo 1 >"$(readlink -f $path/device/device)/remove" || fail "cannot remove the path"
wait $mixer
cat /tmp/mix
sized $several write 100 2 4096
echo "disks several=$several single=$single over=$over${front:+ zoned=$zoned front=$front}"
watch_end 0.5
none_left
