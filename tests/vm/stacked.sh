# Stacked and bio-based disks: an md mirror of two null_blk of 1 and 5 ms (on 5.10 also linear of two, and RAID 5 of three), a device-mapper disk
# on one of 1 ms, a partition of one, RAM disks (brd, zram); and writeback from the page cache.
. /lib.sh
disk left
disk right completion_nsec=5000000
disk under
disk whole
disk cached
arrays=md0

array md0 raid1 $left $right
# Before 5.14 md passes some bios down without cloning them.
case $(uname -r) in
5.10.*)
    disk first
    disk last completion_nsec=5000000
    array md1 linear $first $last
    for part in 1 2 3; do disk part$part; done
    array md2 raid5 $part1 $part2 $part3
    arrays="md0 md1 md2"
    ;;
esac
dm over /dev/$under

# A partition table with one entry: type 0x83, first sector 2048, 65536 sectors.
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
    for array in $arrays; do load $array 0 $op 200 4; done
    load $over 0 $op 200 4
    load $part 0 $op 200 4
    load ram0 0 $op 200 4
    load zram0 0 $op 200 4
done

# Through the page cache: a kernel worker writes it back later.
echo 20 >/proc/sys/vm/dirty_expire_centisecs
echo 20 >/proc/sys/vm/dirty_writeback_centisecs
exec 9</dev/$cached # keeps the disk open: the last close would write it back at once
dd if=/dev/zero of=/dev/$cached bs=64k count=32 conv=notrunc 2>/dev/null
sleep 1.5
echo "disks ${first:+first=$first last=$last one=$part1 two=$part2 three=$part3 }left=$left right=$right under=$under over=$over whole=$whole part=$part cached=$cached"
watch_end 0.5
none_left
