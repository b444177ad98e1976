# SIGKILL at random moments: 20, or 200 if the test is run by name, while the probes, events and functions panes (with a call graph) start, record and write frames: the tracing state is byte for byte as before.
. /lib.sh
program=$(command -v probes_load)
mkfifo /tmp/a
probes_load /tmp/a >/tmp/a.out &
exec 3>/tmp/a
case $(uname -m) in
x86_64) first=%di ;;
*) first=%x0 ;;
esac
tracing=/sys/kernel/tracing
files="set_ftrace_filter set_ftrace_notrace current_tracer kprobe_events uprobe_events dynamic_events events/enable set_event tracing_on trace_options set_graph_function set_graph_notrace max_graph_depth tracing_cpumask"

state() {
    for file in $files; do
        echo "== $file"
        cat $tracing/$file
    done
    ls $tracing/instances $tracing/events
}
state >/tmp/before

all=$(cat /repeats)
kills=0
with_probes=0
with_events=0
with_graph=0
worst=0
while [ $kills -lt $all ]; do
    kills=$((kills + 1))
    ktop --batch --pane probes,events,functions --trace-cpus 0 --graph "vfs_read depth=3" -f hrtimer_nanosleep -f "$program:work" --format json -d 0.1 --probe "p:calls hrtimer_nanosleep ns=$first:s64" --probe 'r:returns hrtimer_nanosleep ret=$retval:s64' \
        --probe "p:works $program:work number=$first:s32" --probe "r:worked $program:work" --group probes:calls\ by\ comm \
        -t sched:sched_switch -t 'sched:sched_process_fork if parent_pid > 0' >/dev/null 2>/tmp/errors &
    watcher=$!
    echo "w 20" >&3
    # Half of them while it starts, which takes up to 2 s in a guest; half of them up to the time when both panes record.
    moment=$((RANDOM % (kills % 2 ? 700 : 3500)))
    sleep $((moment / 1000)).$(printf %03d $((moment % 1000)))
    grep -q ktop_ $tracing/dynamic_events && with_probes=$((with_probes + 1))
    ls $tracing/instances | grep -q events && with_events=$((with_events + 1))
    grep -q vfs_read $tracing/set_graph_function && with_graph=$((with_graph + 1))
    kill -KILL $watcher 2>/dev/null || { cat /tmp/errors; fail "ktop ended by itself"; }
    wait $watcher 2>/dev/null
    state_returns "kill $kills after $moment ms" 101
    [ $i -le $worst ] || worst=$i
done
echo "$kills kills, $with_probes with probes, $with_events with an instance of events, $with_graph with a call graph: the state is as before within $worst tenths of a second"
[ $with_probes -ge $((all / 10)) ] || fail "too few kills while probes were defined: $with_probes"
[ $with_events -ge $((all / 10)) ] || fail "too few kills while events were recorded: $with_events"
[ $with_graph -ge $((all / 10)) ] || fail "too few kills while a call graph was recorded: $with_graph"
kill $(pidof probes_load)
