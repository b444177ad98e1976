# Unusual I/O: split, remapped and chained bios (dm, raid0), operations without a letter (write zeroes, zone operations, zone append), a disk
# that goes offline with queued requests, disks that are removed with requests in flight.
. /lib.sh

# in_flight DEVICE: waits until it has requests in flight.
in_flight() {
    i=0
    until grep -q '[1-9]' "/sys/block/$1/inflight"; do
        i=$((i + 1))
        [ $i -lt 200 ] || fail "no I/O on $1: $(cat /tmp/read)"
        sleep 0.02
    done
}

disk left discard=1
disk right discard=1 completion_nsec=5000000
disk under discard=1 size=4
disk zoned zoned=1 zone_size=4
disk zones zoned=1 zone_size=4 zone_nr_conv=1
disk cut discard=1
echo 64 >/sys/block/$cut/queue/max_sectors_kb
disk gone completion_nsec=1500000000

array md0 raid0 $left $right
dm over /dev/$under 256
# An empty zonefs: its superblock is in the conventional zone.
printf '\123\106\117\132\005\253\277\131' | dd of=/dev/$zones conv=notrunc 2>/dev/null
mkdir /tmp/zones && mount -t zonefs /dev/$zones /tmp/zones || fail "no zonefs"
disks="md0 $over"
[ ! -b /dev/sda ] || disks="$disks sda sdb sdc"
for disk in $disks; do
    i=0
    until [ "$(cat /sys/block/$disk/size)" -gt 0 ]; do
        i=$((i + 1))
        [ $i -lt 200 ] || fail "$disk has no size"
        sleep 0.05
    done
    io_load /dev/$disk read 1 1 4096 random >/dev/null # makes the kernel read its partition table
done
sleep 0.5
watch disk 0.5

for op in read write; do
    sized $over $op 50 2 262144
    sized md0 $op 50 2 262144
    sized $cut $op 50 2 262144
done
for op in zero discard; do
    sized md0 $op 20 1 262144
    sized $over $op 20 1 262144
done
sized $over fsync 20 1 4096
sized md0 fsync 20 1 4096
for op in zone open close finish; do sized $zoned $op 12 1 4194304 sequential; done
sized $zoned zone 4 1 67108864 # all zones with one operation
# Three zones in parallel. 5.10's zonefs appends; 6.1's reports its own appends as corruption (a wrong comparison with the write pointer).
case $(uname -r) in
6.1.*) ;;
*)
    for zone in 0 1 2; do
        bytes=$((zone == 2 ? 65536 : 4096))
        echo "load $zones 0 append 1 $(io_load /tmp/zones/seq/$zone append 60 1 $bytes sequential) bytes $bytes" >/tmp/append$zone &
        eval "writer$zone=$!"
    done
    wait $writer0 $writer1 $writer2
    cat /tmp/append*
    ;;
esac
sized $cut zero 20 1 65536
sized $cut discard 20 1 65536
if [ -b /dev/sda ]; then
    knobs=/sys/bus/pseudo/drivers/scsi_debug
    sized sda zero 50 1 65536
    echo 1 >/sys/block/sdb/device/queue_depth # further requests wait in the queue
    echo 300000000 >$knobs/ndelay
    io_load /dev/sdb read 16 8 4096 random >/tmp/read &
    reader=$!
    io_load /dev/sdb write 16 8 4096 random >/tmp/write &
    in_flight sdb
    sleep 0.1
    echo offline >/sys/block/sdb/device/state || fail "cannot take sdb offline"
    wait $reader $!
    echo "load sdb 0 read 8 $(cat /tmp/read) bytes 4096"
    echo "load sdb 0 write 8 $(cat /tmp/write) bytes 4096"
    echo 1500000000 >$knobs/ndelay 2>/dev/null || echo 900000000 >$knobs/ndelay
    io_load /dev/sdc read 4 4 4096 random >/tmp/read &
    reader=$!
    in_flight sdc
    sleep 0.2 # until all four are in flight
    echo 1 >/sys/block/sdc/device/delete
    wait $reader
    echo "load sdc 0 read 4 $(cat /tmp/read) bytes 4096"
fi
io_load /dev/$gone read 4 4 4096 random >/tmp/read &
reader=$!
in_flight $gone
rmdir $config/gone
wait $reader
echo "load $gone 0 read 4 $(cat /tmp/read) bytes 4096"
echo "disks left=$left right=$right under=$under over=$over zoned=$zoned zones=$zones cut=$cut gone=$gone"
watch_end 0.5
none_left
