# Programs with known shares of time in known functions, which report the CPU time of each function themselves; the kernel's functions, those of
# modules included.
. /lib.sh
arm64=
[ "$(uname -m)" != aarch64 ] || arm64="load_fp load_signed"
for name in load_signals load_kernel; do ln -s /bin/load_omit /bin/$name; done
loads=
start() {
    "$@" >>/tmp/truth &
    loads="$loads $!"
    echo "program $! $*"
}
# frames NAME COUNT OPTION...: frames of 2 s each, without the stream of samples; in the first one names are still being read.
frames() {
    name=$1
    count=$2
    shift 2
    ktop --batch --pane profile --format json -n "$count" -d 2 --frequency 499 "$@" >/tmp/frames 2>/tmp/errors || { cat /tmp/errors; fail "exit status $?"; }
    sed "1d; s/\"events\":\[.*\],\"notes\"/\"events\":[],\"notes\"/; s/^/frame $name /" /tmp/frames
}
for program in load_omit load_lib $arm64; do start $program shares; done
start load_signals signals
start load_kernel kernel
# By the clock: QEMU notices the overflow of a cycle counter late, at the next change between user and kernel mode.
frames chosen 4 --profile-event cpu-clock
if [ -n "$arm64" ]; then
    frames copied 2 --profile-event cpu-clock --call-graph dwarf
    frames pointers 2 --profile-event cpu-clock --call-graph fp
fi
frames default 2
kill -TERM $loads || fail "a load has ended"
wait
sed 's/^/truth /' /tmp/truth

disk memory completion_nsec=10000
(while :; do io_load /dev/$memory read 2000 1 4096 random >/dev/null; done) &
reader=$!
frames modules 6 # its names may come late: the kernel reads its list of symbols again, since it has a new module
kill $reader
echo "mapping symbols: $(grep -c ' \$[xd]' /proc/kallsyms)"
none_left
