# The call graph of kernel functions: a program calls a system call a known number of times. While ktop is stopped (SIGSTOP), the kernel's own
# text of the same buffer is printed, which tests/vm/graph.check compares with ktop's tree. The tracer's global files are as before after an
# end, after SIGKILL, and while another tool uses them.
. /lib.sh
tracing=/sys/kernel/tracing
mkfifo /tmp/a
taskset 1 probes_load /tmp/a >/tmp/a.out & # on one CPU: the kernel's text joins calls of two wrongly
a=$!
exec 4>/tmp/a
files="set_graph_function set_graph_notrace max_graph_depth current_tracer set_ftrace_pid set_ftrace_notrace_pid set_ftrace_filter
set_ftrace_notrace set_event tracing_on tracing_cpumask trace_clock trace_options kprobe_events uprobe_events events/enable"
state() {
    for f in $files; do echo "$f: $(cat $tracing/$f)"; done
    cat $tracing/per_cpu/cpu*/stats | grep entries:
    ls $tracing/instances
}
unchanged() {
    state_returns "$1" 1200
    echo "as before after $1"
}
state >/tmp/before

# begun NAME CHOICE [OPTION...]: starts ktop, and waits until it records. False: it does not.
begun() {
    name=$1
    choice=$2
    shift 2
    : >/tmp/frames
    ktop --batch --pane functions --format json -d 1 --graph "$choice" "$@" >/tmp/frames 2>/tmp/errors &
    watcher=$!
    i=0
    until grep -q '"graph_lost":[0-9]' /tmp/frames; do
        i=$((i + 1))
        [ $i -lt 4000 ] || fail "$name: no frame: $(cat /tmp/errors; tail -n 1 /tmp/frames)"
        if grep -q '"text":"no call graph' /tmp/frames; then
            kill -TERM $watcher
            wait $watcher
            return 1
        fi
        [ -d /proc/$watcher ] || return 1
        sleep 0.05
    done
    dir=$(echo $tracing/instances/ktop-*-graph)
    [ -d "$dir" ] || dir=$tracing
    grep -q "^function_graph" $dir/current_tracer || fail "$name: the tracer is not on in $dir"
}

# called COMMAND LINES: gives the program that command while ktop is stopped, prints the kernel's text, lets ktop go on, prints its frames.
called() {
    kill -STOP $watcher
    while cat /proc/$watcher/task/*/stat | grep -qv ') T '; do :; done # a thread within the kernel stops later
    echo "$1" >&4
    until [ "$(cat /tmp/a.out | wc -l)" -ge "$2" ]; do sleep 0.05; done
    echo 1 >$dir/options/funcgraph-proc
    sed "s/^/text $name /" $dir/trace
    echo 0 >$dir/options/funcgraph-proc
    kill -CONT $watcher
    frames_come $(($(wc -l </tmp/frames) + 4)) 120
    head -n "$(wc -l </tmp/frames)" /tmp/frames | sed "s/^/frame $name /" # without a line that is being written
}

refusal() { sed -n "s/.*\"text\":\"\(no call graph.*\)\",\"fix\":\".*/refused $name \1/p" /tmp/frames | head -n 1; }

echo "pid $a"
begun syscall '*sys_getpriority depth=8' || fail "no call graph: $(cat /tmp/errors; tail -n 1 /tmp/frames)"
called "g 40" 1
ktop_end
unchanged "an end"

# Only the program's calls, to a depth of 7; a function and what it calls are left out. Slow calls are listed.
begun pid '* depth=7 without=do_nanosleep > 900ms' --pid $a || fail "no call graph with --pid: $(tail -n 1 /tmp/frames)"
called "s 2 1000000000
s 30 100000" 3
ktop_end
unchanged "an end with --pid"

# A buffer that is too small: records are lost, and counted. Then ktop is killed.
begun lost '*sys_getpriority' --test buffer_kib=8 || fail "no call graph: $(tail -n 1 /tmp/frames)"
called "g 2000" 4
grep -q getpriority $tracing/set_graph_function || fail "set_graph_function has no function"
kill -KILL $watcher
wait $watcher
unchanged "SIGKILL"

# Only on one CPU: the program's, then another one. Then ktop is killed.
begun here '*sys_getpriority' --trace-cpus 0 || fail "no call graph: $(tail -n 1 /tmp/frames)"
called "g 30" 5
ktop_end
unchanged "an end with a CPU"
begun there '*sys_getpriority' --trace-cpus 1 || fail "no call graph: $(tail -n 1 /tmp/frames)"
called "g 30" 6
kill -KILL $watcher
wait $watcher
unchanged "SIGKILL with a CPU"

# Recording begins at the first getpgid, and ends at the first getsid: 7 calls before, 20 within, 5 after.
begun switched '*sys_getpriority start=*sys_getpgid stop=*sys_getsid' || fail "no call graph: $(tail -n 1 /tmp/frames)"
called "g 7
b 1
g 20
e 1
g 5" 11
ktop_end
unchanged "an end with start and stop"
begun started '*sys_getpriority start=*sys_getpgid' || fail "no call graph: $(tail -n 1 /tmp/frames)"
called "g 3" 12
kill -KILL $watcher
wait $watcher
unchanged "SIGKILL with a start function"
if begun unknown '*sys_getpriority start=no_such_function'; then fail "a start function that does not exist was accepted"; fi
refusal
unchanged "a refused start function"

if begun rate 'update_process_times' --test probe_limit=2; then fail "a choice above the limit was recorded"; fi
refusal
unchanged "a refused rate"

if begun nothing 'no_such_function'; then fail "a function that does not exist was accepted"; fi
refusal
unchanged "a refusal"

# Another tool uses a global file.
echo vfs_read >$tracing/set_graph_function
state >/tmp/before
if begun busy '*sys_getpriority'; then fail "set_graph_function of another tool was overwritten"; fi
refusal
unchanged "another tool"
echo >$tracing/set_graph_function

ktop --doctor | grep "call graph" | sed 's/^/doctor /'
state >/tmp/before
kill $a
none_left
