# Disks on disks, and disks without requests: a mirror (md) of two null_blk of 1 and 5 ms, a device-mapper disk on one of 1 ms, a partition of
# one, RAM disks (brd, zram); and what is written through the page cache.
. /lib.sh
config=/sys/kernel/config/nullb
mount -t configfs none /sys/kernel/config || fail "no configfs"

# disk NAME DELAY_NS: a null_blk; its device's name goes into the variable NAME.
disk() {
    mkdir $config/$1 || fail "no disk $1"
    for pair in size=64 irqmode=2 queue_mode=2 "completion_nsec=$2" memory_backed=1 power=1; do
        echo "${pair#*=}" >$config/$1/${pair%%=*} || fail "$1: $pair"
    done
    device=$1 # newer kernels; older ones number them
    [ -b /dev/$1 ] || device=nullb$(cat $config/$1/index)
    eval "$1=$device"
}

disk left 1000000
disk right 5000000
disk under 1000000
disk whole 1000000
disk cached 1000000

echo md0 >/sys/module/md_mod/parameters/new_array || fail "no md"
md=/sys/block/md0/md
echo none >$md/metadata_version
echo raid1 >$md/level || fail "no raid1"
echo 2 >$md/raid_disks
echo 65536 >$md/component_size
slot=0
for disk in $left $right; do
    cat /sys/block/$disk/dev >$md/new_dev || fail "md0 does not take $disk"
    echo $slot >$md/dev-$disk/slot
    slot=$((slot + 1))
done
echo none >$md/resync_start # they are alike
echo active >$md/array_state || fail "md0 does not start: $(cat $md/array_state)"
[ -b /dev/md0 ] || fail "no md0"

numbers=$(dm_linear over /dev/$under) || fail "no device-mapper disk"
over=$(basename "$(readlink /sys/dev/block/$numbers)")
[ -b /dev/$over ] || fail "no $over"

# A partition table of one entry: type 83, from sector 2048, 65536 sectors.
printf '\0\0\0\0\203\0\0\0\0\010\0\0\0\0\001\0' | dd of=/dev/$whole bs=1 seek=446 conv=notrunc 2>/dev/null
printf '\125\252' | dd of=/dev/$whole bs=1 seek=510 conv=notrunc 2>/dev/null
blockdev --rereadpt /dev/$whole
part=${whole}1
[ -b /dev/$part ] || part=${whole}p1
[ -b /dev/$part ] || fail "no partition: $(ls /sys/block/$whole)"

echo 16M >/sys/block/zram0/disksize || fail "no zram"
dd if=/dev/urandom of=/dev/zram0 bs=64k count=256 2>/dev/null
dd if=/dev/urandom of=/dev/ram0 bs=64k count=256 2>/dev/null
sync
echo 1 >/proc/sys/vm/drop_caches
sleep 0.5
watch disk 0.5
for op in read write; do
    load md0 0 $op 200 4
    load $over 0 $op 200 4
    load $part 0 $op 200 4
    load ram0 0 $op 200 4
    load zram0 0 $op 200 4
done

# Through the page cache: the kernel's own worker writes it a moment later.
echo 20 >/proc/sys/vm/dirty_expire_centisecs
echo 20 >/proc/sys/vm/dirty_writeback_centisecs
exec 9</dev/$cached # the last one to close the disk would write it at once
dd if=/dev/zero of=/dev/$cached bs=64k count=32 conv=notrunc 2>/dev/null
sleep 1.5
echo "disks left=$left right=$right under=$under over=$over whole=$whole part=$part cached=$cached"
watch_end 0.5
none_left
