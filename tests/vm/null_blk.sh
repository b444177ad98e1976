# Disks with known delays (null_blk with timer completions): 0 to measure the emulated machine's overhead, 1, 5 and 20 ms, each
# at its own queue depth; one disk that changes from 1 to 20 ms, for which it is removed and added again; one with bad blocks.
. /lib.sh

# mkdisk NAME DELAY_NS [BAD_BLOCKS]
mkdisk() { disk "$1" discard=1 cache_size=16 "completion_nsec=$2" ${3:+"badblocks=$3"}; }

for depth in 1 4 16; do mkdisk none_$depth 1; done
mkdisk one 1000000
mkdisk five 5000000
mkdisk twenty 20000000
mkdisk synced_none 1
mkdisk synced_one 1000000
mkdisk synced_five 5000000
mkdisk synced_twenty 20000000
mkdisk bad 1 +4660-4669
mkdisk mixed 1000000
watch disk,triage 0.5

for op in read write; do
    load $none_1 0 $op 400 1
    load $none_4 0 $op 600 4
    load $none_16 0 $op 1600 16
    load $one 1000000 $op 400 1
    load $five 5000000 $op 600 4
    load $twenty 20000000 $op 1600 16
done
# Depth 1: the kernel holds a device lock during each discard.
load $none_1 0 discard 200 1
load $one 1000000 discard 200 1
load $five 5000000 discard 100 1
load $twenty 20000000 discard 50 1
load $synced_none 0 fsync 200 1
# Three disks at once.
load $synced_one 1000000 fsync 200 1 >/tmp/one &
one_pid=$!
load $synced_five 5000000 fsync 80 1 >/tmp/five &
load $synced_twenty 20000000 fsync 40 1
wait $one_pid $!
cat /tmp/one /tmp/five

load $mixed 1000000 mix 600 4
echo "reborn $mixed"
sed 's/^/diskstats gone /' /proc/diskstats
echo 0 >$config/mixed/power
echo 20000000 >$config/mixed/completion_nsec
echo 1 >$config/mixed/power
[ -b /dev/$mixed ] || fail "the disk came back under another name"
load $mixed 20000000 mix 600 4

# Bad blocks: sectors 4660 to 4669 fail two I/Os of 8 sectors each, for reads and for writes, between good ones.
load $bad 0 read 4 1 $((4648 * 512))
load $bad 0 write 4 1 $((4648 * 512))
watch_end 0.5
none_left
