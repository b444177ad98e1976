# Disks of a known delay (null_blk with completions by timer): 0 for what the emulated machine itself costs, 1, 5 and 20 ms, each
# at a depth of its own; one that changes from 1 to 20 ms, which makes it a disk that goes and comes back; one with bad blocks.
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
# One at a time: the kernel holds a lock on the device for each.
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

# Bad blocks: sectors 4660 to 4669, in two I/Os of 8 sectors each, read and written, between good ones.
load $bad 0 read 4 1 $((4648 * 512))
load $bad 0 write 4 1 $((4648 * 512))
watch_end 0.5
none_left
