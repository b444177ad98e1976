# After SIGKILL, SIGTERM or SIGSEGV while it traces disks, ktop's tracing instances and processes are gone within 2 s.
. /lib.sh
disk nullb0

for signal in KILL TERM SEGV; do
    watch disk 0.3
    load nullb0 1000000 mix 1000000 1 >/dev/null &
    burden=$!
    sleep 0.7
    instance=$(ls -d /sys/kernel/tracing/instances/ktop*) || fail "no instance while tracing"
    [ "$(cat $instance/events/block/block_rq_issue/enable)" = 1 ] || fail "block_rq_issue is not enabled in $instance"
    grep -q '"device":"nullb0","op":"W"' /tmp/frames || fail "no I/O in the frames"
    kill -$signal $watcher
    waited=0
    while ls /sys/kernel/tracing/instances | grep -q ktop; do
        waited=$((waited + 1))
        [ $waited -le 20 ] || fail "SIG$signal: $(ls /sys/kernel/tracing/instances) still exists after 2 s"
        sleep 0.1
    done
    echo "SIG$signal: gone within $waited tenths of a second"
    none_left
    wait $watcher 2>/dev/null
    kill $(pidof io_load) # not a direct child: its parent is the shell of load
    wait $burden 2>/dev/null
    i=0
    while pidof ktop >/dev/null; do
        i=$((i + 1))
        [ $i -le 20 ] || fail "SIG$signal: a process still runs: $(ps | grep ktop)"
        sleep 0.1
    done
done
