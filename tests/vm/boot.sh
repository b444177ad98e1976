# ktop starts on this kernel, --doctor reports its features, the panes work on a terminal, and no kernel state is left behind.
. /lib.sh
uname -r
ktop --version || exit 1

# --cleanup removes a dead ktop's probe, also an enabled one. The top-level buffer, not used for tracing so far, stays small.
tracing=/sys/kernel/tracing
probe_made() { echo "p:ktop_99999_1_probes/it /bin/busybox:0x1000" >>$tracing/uprobe_events || fail "cannot create a probe"; }
probe_removed() { ktop --cleanup | grep "removed probe ktop_99999_1_probes/it" || fail "the probe is still there: $(cat $tracing/uprobe_events)"; }
size=$(cat $tracing/buffer_size_kb)
probe_made
probe_removed
[ "$(cat $tracing/buffer_size_kb)" = "$size" ] || fail "the top-level buffer was $size KiB, now it is $(cat $tracing/buffer_size_kb)"
probe_made
echo 1 >$tracing/events/ktop_99999_1_probes/it/enable || fail "cannot enable the probe"
probe_removed

ktop --doctor || exit 1
ktop --batch --pane triage,tasks,cpus,memory,disk,network,health --format json -n 2 -d 0.5 >/tmp/out || exit 1
[ "$(wc -l </tmp/out)" = 14 ] || { echo "expected 14 lines"; cat /tmp/out; exit 1; }
none_left

# On an 80x24 terminal: triage, tasks, disk, then quit. Each pane shows its own contents, and the terminal is restored.
for terminal in xterm-256color linux vt100; do
    TERM=$terminal on_pty 0.8 25q ktop -d 0.5 >/tmp/screen || fail "$terminal: exit status $?: $(tr '\033' '~' </tmp/screen)"
    for word in ktop triage load tasks COMMAND disk READS; do
        grep -q -i "$word" /tmp/screen || fail "$terminal: no $word on the screen: $(tr '\033' '~' </tmp/screen)"
    done
    echo "$terminal: $(wc -c </tmp/screen) bytes"
done
none_left
