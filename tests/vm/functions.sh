# The functions pane: functions of the kernel and of a program, called a known number of times; an injected delay is what a limit lists;
# recursion; and nothing left after an end and after SIGKILL.
. /lib.sh
program=$(command -v probes_load)
mkfifo /tmp/a /tmp/b
probes_load /tmp/a >/tmp/a.out &
a=$!
probes_load /tmp/b >/tmp/b.out &
b=$!
tracing=/sys/kernel/tracing

state() { cat $tracing/dynamic_events $tracing/kprobe_events $tracing/uprobe_events $tracing/set_event $tracing/set_ftrace_filter; ls $tracing/instances $tracing/events; }
state >/tmp/before

patience=60 # of told
more=
# counted NAME PROBES PATTERN...: starts ktop with the patterns, waits until PROBES are there. False: refused, with its reason.
counted() {
    name=$1 probes=$2
    shift 2
    : >/tmp/frames
    for pattern in "$@"; do
        set -- "$@" -f "$pattern"
        shift
    done
    ktop --batch --pane functions --pid $a --format json -d 1 $more "$@" >/tmp/frames 2>/tmp/errors &
    watcher=$!
    i=0
    until grep -q "\"function_probes\":$probes[,}]" /tmp/frames; do
        i=$((i + 1))
        [ $i -lt 1200 ] || fail "$name: no frame: $(cat /tmp/errors; tail -n 1 /tmp/frames)"
        [ -d /proc/$watcher ] && kill -0 $watcher 2>/dev/null || { echo "refused $name $(cat /tmp/errors)"; return 1; }
        sleep 0.05
    done
}

ktop --doctor | grep 'functions of' | sed 's/^/doctor /'
echo "pids $a $b"
if counted kernel 1 hrtimer_nanosleep; then
    echo "s 150 100000" >/tmp/b
    echo "s 200 100000" >/tmp/a
    told /tmp/a.out 1
    told /tmp/b.out 1
    ended 4
fi
if counted user 1 "$program:work"; then
    echo "w 100" >/tmp/b
    echo "w 300" >/tmp/a
    told /tmp/a.out 2
    told /tmp/b.out 2
    ended 4
fi
if counted slow 1 'hrtimer_nanosleep > 400ms'; then
    echo "s 20 1000000" >/tmp/a
    echo "s 1 700000000" >/tmp/a
    echo "s 20 1000000" >/tmp/a
    told /tmp/a.out 5
    ended 4
fi
if counted both 2 'hrtimer_nanosleep' "$program:work"; then
    echo "w 50" >/tmp/a
    echo "s 70 100000" >/tmp/a
    told /tmp/a.out 7
    ended 4
fi
# Only on one CPU.
more="--trace-cpus 0"
taskset -p 1 $a
if counted cpus 2 'hrtimer_nanosleep' "$program:work"; then
    echo "s 60 100000" >/tmp/a
    told /tmp/a.out 8
    taskset -p 2 $a
    echo "s 40 100000" >/tmp/a
    echo "w 30" >/tmp/a
    told /tmp/a.out 10
    ended 4
fi
more=
taskset -p 3 $a
getpriority=__x64_sys_getpriority
[ "$(uname -m)" = x86_64 ] || getpriority=__arm64_sys_getpriority
if counted switched 3 'hrtimer_nanosleep' "start $program:work" "stop $getpriority"; then
    echo "s 30 100000" >/tmp/a
    echo "w 1" >/tmp/a
    echo "s 50 100000" >/tmp/a
    echo "g 1" >/tmp/a
    echo "s 20 100000" >/tmp/a
    told /tmp/a.out 15
    ended 4
fi
if counted nothing 1 no_such_function; then fail "a function that does not exist was accepted"; fi
if counted nothing 1 'vfs_*:mod:no_such_module'; then fail "a module that does not exist was accepted"; fi
if counted nothing 1 '*'; then fail "the whole kernel was accepted"; fi

counted killed 2 hrtimer_nanosleep "$program:work" || fail "refused"
kill -KILL $watcher
wait $watcher
echo "w 10" >/tmp/a
told /tmp/a.out 16
state_returns SIGKILL 50
echo "after SIGKILL the state is as before"
kill $a $b
