# Functions for the tests in virtual machines; tests/vm/disk.py parses their output about disks.

fail() { echo "FAIL: $*"; exit 1; }

echo # the firmware's last line has no newline
dmesg -n 1 # keeps kernel messages from splitting our lines
mkdir -p /sys/kernel/tracing && mount -t tracefs nodev /sys/kernel/tracing || fail "no tracefs"

# frames_come LINES SECONDS: waits until ktop has written LINES lines of frames; fails after SECONDS.
frames_come() {
    i=0
    until [ "$(cat /tmp/frames 2>/dev/null | wc -l)" -ge "$1" ]; do
        i=$((i + 1))
        [ $i -lt $(($2 * 20)) ] || { cat /tmp/errors 2>/dev/null; fail "no frame within $2 s"; }
        sleep 0.05
    done
}

# recording_begins SECONDS: waits for a frame of the pane events that counts chosen events; earlier ones have none.
recording_begins() {
    i=0
    until grep -q '"counts":\[{' /tmp/frames 2>/dev/null; do
        i=$((i + 1))
        [ $i -lt $(($1 * 20)) ] || { cat /tmp/errors 2>/dev/null; fail "nothing is recorded within $1 s"; }
        sleep 0.05
    done
}

# watch PANES DELAY: starts ktop in batch mode, and waits for its first frame.
watch() {
    ktop --batch --pane "$1" --format json -d "$2" >/tmp/frames 2>/tmp/errors &
    watcher=$!
    frames_come 1 10
    sed 's/^/diskstats before /' /proc/diskstats
}

# ktop_end: ends the ktop that was started last; checks its exit status.
ktop_end() {
    kill -TERM $watcher
    wait $watcher
    status=$?
    [ $status = 0 ] || [ $status = 143 ] || { cat /tmp/errors; fail "ktop exited with $status"; }
}

# told FILE LINES: waits until a program has written that many lines, for $patience seconds.
told() {
    i=0
    until [ "$(cat "$1" | wc -l)" -ge "$2" ]; do
        i=$((i + 1))
        [ $i -lt $((patience * 20)) ] || { tail -n 3 /tmp/frames; cat /tmp/errors; fail "$1: no answer"; }
        sleep 0.05
    done
}

# state_returns WHAT TENTHS: waits until the test's function state prints what /tmp/before has. i: the tenths of a second that it took.
state_returns() {
    i=0
    while state >/tmp/after; ! cmp -s /tmp/before /tmp/after; do
        i=$((i + 1))
        [ $i -lt "$2" ] || fail "$1 left: $(diff /tmp/before /tmp/after)"
        sleep 0.1
    done
}

# ended FRAMES: that many more frames of the run $name, then the end; prints them. The state is as before at once.
ended() {
    frames_come $(($(wc -l </tmp/frames) + $1)) 120
    ktop_end
    sed "s/^/frame $name /" /tmp/frames
    state_returns "$name" 1
    none_left
}

# watch_end DELAY: waits for one more complete frame, then prints the frames, with single I/Os only if they failed.
watch_end() {
    sleep "$(awk "BEGIN { print 2 * $1 + 0.3 }")"
    sed 's/^/diskstats after /' /proc/diskstats
    ktop_end
    grep -o '{"time_s":[^{}]*"error":"[^"]*"[^{}]*}' /tmp/frames | sed 's/^/event /'
    grep -o '{[^{}]*"kind":"disk_errors"[^{}]*}' /tmp/frames | sed 's/^/finding /'
    grep '"interval_s":[^,]*,"pane":"disk"' /tmp/frames | sed 's/"events":\[.*\],"notes"/"events":[],"notes"/; s/^/frame /'
}

# load DEVICE DELAY_NS OP COUNT DEPTH [FIRST]: a load on a disk with a known delay.
load() {
    order=random
    [ $# -lt 6 ] || order=sequential
    echo "load $1 $2 $3 $5 $(io_load "/dev/$1" "$3" "$4" "$5" 4096 $order ${6:+"$6"})"
}

# disk NAME SETTING...: creates a null_blk of 64 MB and 1 ms; sets the variable NAME to its device name.
config=/sys/kernel/config/nullb
disk() {
    [ -d $config ] || mount -t configfs none /sys/kernel/config || fail "no configfs"
    made=$1
    shift
    mkdir "$config/$made" || fail "no disk $made"
    for pair in size=64 irqmode=2 queue_mode=2 memory_backed=1 completion_nsec=1000000 "$@" power=1; do
        echo "${pair#*=}" >"$config/$made/${pair%%=*}" || fail "$made: $pair"
    done
    device=$made # newer kernels keep the name; older ones use nullbN
    [ -b "/dev/$made" ] || device=nullb$(cat "$config/$made/index")
    eval "$made=$device"
}

# array NAME LEVEL DISK...: creates an md array of equal disks.
array() {
    name=$1
    level=$2
    shift 2
    echo "$name" >/sys/module/md_mod/parameters/new_array || fail "no md"
    md=/sys/block/$name/md
    echo none >$md/metadata_version
    echo "$level" >$md/level || fail "no $level"
    echo $# >$md/raid_disks
    [ "$level" = raid1 ] || echo 65536 >$md/chunk_size
    [ "$level" = raid0 ] || [ "$level" = linear ] || echo 65536 >$md/component_size
    slot=0
    for part in "$@"; do
        cat "/sys/block/$part/dev" >$md/new_dev || fail "$name does not accept $part"
        [ "$level" = raid1 ] || [ "$level" = raid5 ] || echo 65536 >"$md/dev-$part/size"
        echo $slot >"$md/dev-$part/slot"
        slot=$((slot + 1))
    done
    [ "$level" = raid0 ] || [ "$level" = linear ] || echo none >$md/resync_start
    echo active >$md/array_state || fail "$name does not start: $(cat $md/array_state)"
    [ -b "/dev/$name" ] || fail "no $name"
}

# dm NAME OPTION...: creates a device-mapper disk (tests/vm/programs/dm_linear.c); sets the variable NAME to its device name.
dm() {
    numbers=$(dm_linear "$@") || fail "no device-mapper disk"
    device=$(basename "$(readlink "/sys/dev/block/$numbers")")
    [ -b "/dev/$device" ] || fail "no $device"
    eval "$1=$device"
}

# sized DEVICE OP COUNT DEPTH BYTES [ORDER]: a load with BYTES per operation.
sized() {
    echo "load $1 0 $2 $4 $(io_load "/dev/$1" "$2" "$3" "$4" "$5" "${6:-random}") bytes $5"
}

# Of a thread that takes long the guard removes the instance, after the end of ktop.
none_left() {
    i=0
    while left=$(ls /sys/kernel/tracing/instances | grep -c ktop); [ "$left" != 0 ] && [ $i -lt 50 ]; do
        i=$((i + 1))
        sleep 0.1
    done
    [ "$left" = 0 ] || fail "$left instances left: $(ls /sys/kernel/tracing/instances)"
    [ "$(cat /sys/kernel/tracing/events/enable)" = 0 ] || fail "events are still enabled"
}

# counted_round NAME EXTRA OPTION...: a known load (tests/vm/programs/counted.c) within ktop's second frame.
counted_round() {
    name=$1
    extra=$2
    shift 2
    : >/tmp/frames
    ktop --batch --pane tasks,cpus,health --format json -n 2 -d 1.3 "$@" >/tmp/frames 2>/tmp/errors &
    watcher=$!
    frames_come 1 10
    counted "$extra" >/tmp/truth &
    counted=$!
    wait $watcher || { cat /tmp/errors; fail "exit status $?"; }
    [ -s /tmp/truth ] || fail "the load did not end within the frame"
    kill $counted
    sed "s/^/$name /" /tmp/truth
    tail -n 3 /tmp/frames | sed "s/^/frame $name /"
}
