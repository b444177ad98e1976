# The program starts on this kernel, says what the kernel allows, shows itself on a terminal, and leaves nothing in it.
. /lib.sh
uname -r
ktop --version || exit 1

# What a dead ktop left goes; the top level, where nobody has traced yet, keeps its small buffer. One that is still on goes as well.
tracing=/sys/kernel/tracing
probe_made() { echo "p:ktop_99999_1_probes/it /bin/busybox:0x1000" >>$tracing/uprobe_events || fail "no probe can be made"; }
probe_swept() { ktop --cleanup | grep "removed probe ktop_99999_1_probes/it" || fail "the probe is left: $(cat $tracing/uprobe_events)"; }
size=$(cat $tracing/buffer_size_kb)
probe_made
probe_swept
[ "$(cat $tracing/buffer_size_kb)" = "$size" ] || fail "the top level's buffer was $size KiB, and is $(cat $tracing/buffer_size_kb)"
probe_made
echo 1 >$tracing/events/ktop_99999_1_probes/it/enable || fail "the probe cannot be switched on"
probe_swept

ktop --doctor || exit 1
ktop --batch --pane triage,tasks,cpus,memory,disk,network,health --format json -n 2 -d 0.5 >/tmp/out || exit 1
[ "$(wc -l </tmp/out)" = 14 ] || { echo "expected 14 lines"; cat /tmp/out; exit 1; }
none_left

# On a terminal of 80x24, first triage, then tasks and disk, then the end: each pane shows what is its own, and the terminal is given back.
for terminal in xterm-256color linux vt100; do
    TERM=$terminal on_pty 0.8 25q ktop -d 0.5 >/tmp/screen || fail "$terminal: exit status $?: $(tr '\033' '~' </tmp/screen)"
    for word in ktop triage load tasks COMMAND disk READS; do
        grep -q -i "$word" /tmp/screen || fail "$terminal: no $word on the screen: $(tr '\033' '~' </tmp/screen)"
    done
    echo "$terminal: $(wc -c </tmp/screen) bytes"
done
none_left
