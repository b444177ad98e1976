# Cgroup limits, v1 on two kernels and v2 on the other two: which cgroup is throttled by a CPU limit, and which by an I/O limit
# on a whole disk.
. /lib.sh
disk slow irqmode=0
disk=$slow
number=$(cat /sys/block/$disk/dev)

mkdir -p /sys/fs/cgroup && mount -t tmpfs groups /sys/fs/cgroup || fail "cannot mount a tmpfs for cgroups"
case $(uname -r) in
5.10.* | 6.12.*)
    version=1
    for controller in cpu pids blkio; do
        mkdir /sys/fs/cgroup/$controller && mount -t cgroup -o $controller none /sys/fs/cgroup/$controller || fail "no v1 $controller controller"
    done
    cpu=/sys/fs/cgroup/cpu/limited
    blkio=/sys/fs/cgroup/blkio/slowed
    other=/sys/fs/cgroup/pids/other # the same tasks' cgroup in another hierarchy
    mkdir $cpu $blkio $other
    echo 10000 >$cpu/cpu.cfs_quota_us || fail "cannot set the CPU limit"
    echo "$number 20" >$blkio/blkio.throttle.read_iops_device || fail "cannot set the I/O limit"
    ;;
*)
    version=2
    umount /sys/fs/cgroup
    mount -t cgroup2 none /sys/fs/cgroup || fail "no cgroup2"
    echo "+cpu +io" >/sys/fs/cgroup/cgroup.subtree_control || fail "no controllers"
    cpu=/sys/fs/cgroup/limited
    blkio=/sys/fs/cgroup/slowed
    other=
    mkdir $cpu $blkio
    echo "10000 100000" >$cpu/cpu.max || fail "cannot set the CPU limit"
    echo "$number riops=20" >$blkio/io.max || fail "cannot set the I/O limit"
    ;;
esac

for i in 1 2 3; do
    sched_load burn 0 0 >/tmp/burn$i &
done
for i in 1 2 3; do
    until [ -s /tmp/burn$i ]; do sleep 0.05; done
    [ -z "$other" ] || cat /tmp/burn$i >$other/cgroup.procs
    cat /tmp/burn$i >$cpu/cgroup.procs
done
echo "load $version $disk $(cat /tmp/burn1 /tmp/burn2 /tmp/burn3 | tr '\n' ' ')"
ktop --batch --pane triage,tasks,disk --format json -d 0.7 >/tmp/frames 2>/tmp/errors &
watcher=$!
frames_come 1 20
sh -c "echo \$\$ >$blkio/cgroup.procs; exec io_load /dev/$disk read 40 1 4096 random" || fail "no I/O"
frames_come $(($(wc -l </tmp/frames) + 6)) 20 # the current frame and one more, of three panes
ktop_end
sed 's/^/frame /' /tmp/frames
none_left
