# SCSI disks whose delay changes at run time (scsi_debug): 1, 5 and 20 ms, then 1 and 20 ms on one disk; flushes, which take
# 48 ms; medium errors; aborted commands, which the kernel retries and then fails.
. /lib.sh
if grep -qx scsi_debug /modules/absent; then
    echo "scsi_debug: this kernel's packages have no such module, and it is not built in"
    [ ! -e /sys/bus/pseudo/drivers/scsi_debug ] || fail "but scsi_debug is present"
    exit 0
fi
knobs=/sys/bus/pseudo/drivers/scsi_debug
i=0
until [ -b /dev/sdh ]; do
    i=$((i + 1))
    [ $i -lt 200 ] || fail "the disks did not appear: $(ls /sys/block)"
    sleep 0.05
done
sleep 0.5 # until the kernel has read their partition tables
delay() { echo "$1" >$knobs/ndelay || fail "cannot change the delay"; }
watch disk,triage 0.5

# The machine's overhead: for a command without delay, and for the timer of a delayed one.
delay 1
for op in read write; do
    load sda 0 $op 400 1
done
load sda 0 discard 200 1
load sda 0 fsync 100 1
delay 100000
for op in read write; do
    load sdb 100000 $op 400 1
done
load sdb 100000 discard 200 1
delay 1000000
load sdc 1000000 read 400 1
load sdc 1000000 write 400 1
load sdc 1000000 discard 200 1
load sdf 1000000 mix 600 4
load sdg 1000000 fsync 40 1
delay 5000000
load sdd 5000000 read 600 4
load sdd 5000000 write 600 4
load sdd 5000000 discard 100 1
delay 20000000
load sde 20000000 read 800 16
load sde 20000000 write 800 16
load sde 20000000 discard 50 1
load sdf 20000000 mix 600 4

# Sectors 0x1234 to 0x123d are unreadable: the first I/O is good up to there, the second fails completely.
delay 1
echo 2 >$knobs/opts
load sdh 0 read 4 1 $((0x1228 * 512))
echo 0x10 >$knobs/opts
echo 1 >$knobs/every_nth
load sdh 0 write 1 1 $((0x2000 * 512))
echo 0 >$knobs/opts
echo 0 >$knobs/every_nth
watch_end 0.5
none_left
