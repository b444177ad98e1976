# CPU hotplug: ktop starts while one of two CPUs is offline. It comes online, then goes offline and online repeatedly under a load on three disks.
. /lib.sh
cpu=/sys/devices/system/cpu/cpu1/online
# processor 0|1: takes CPU 1 offline or online
processor() { echo "$1" >$cpu || fail "cannot set the CPU to $1"; }
# used: CPU time of ktop, in ticks of 10 ms.
used() { awk '{ print $14 + $15 }' /proc/$watcher/stat; }
# idle: CPU time of ktop in a second without I/O, after its frames no longer show the previous load.
idle() {
    i=0
    until tail -n 1 /tmp/frames | grep -q '"block_ios_per_s":0,'; do
        i=$((i + 1))
        [ $i -lt 200 ] || fail "no frame without I/O within 20 s"
        sleep 0.1
    done
    before=$(used)
    sleep 1
    echo "idle $1 $(($(used) - before))"
}

disk direct irqmode=0
disk late
disk slow completion_nsec=5000000
[ -e $cpu ] || fail "there is only one CPU"
processor 0
watch disk 0.5
idle before
load $direct 0 read 2000 1
processor 1
load $direct 0 write 2000 2
loads=
for what in "$direct read 4000 3" "$late mix 2000 2" "$slow mix 1000 2"; do
    set -- $what
    load $1 0 $2 $3 $4 >/tmp/$1 &
    loads="$loads $!"
done
turns=0
while kill -0 ${loads##* } 2>/dev/null; do
    processor 0
    sleep 0.1
    processor 1
    sleep 0.1
    turns=$((turns + 1))
done
wait $loads
cat /tmp/$direct /tmp/$late /tmp/$slow
echo "turns $turns"
processor 0
load $late 1000000 read 200 2
idle off
processor 1
idle on
echo "disks $late=1000 $slow=5000"
watch_end 0.5
none_left
