# The probes pane: kernel functions and a program's own, called a known number of times with known arguments; returns lost by maxactive 1;
# the kinds that a kernel lacks; and nothing left after an end and after SIGKILL.
. /lib.sh
program=$(command -v probes_load)
mkfifo /tmp/a /tmp/b
probes_load /tmp/a >/tmp/a.out &
a=$!
probes_load /tmp/b >/tmp/b.out &
b=$!
case $(uname -m) in
x86_64) first=%di ;;
*) first=%x0 ;;
esac
tracing=/sys/kernel/tracing

state() { cat $tracing/dynamic_events $tracing/kprobe_events $tracing/uprobe_events $tracing/set_event; ls $tracing/instances $tracing/events; }
state >/tmp/before

patience=30 # of told
only="--pid $a,$b"

# recorded NAME PROBE...: starts ktop with the probes, waits until it records. False: refused, with its reason.
recorded() {
    name=$1
    shift
    : >/tmp/frames
    for probe in "$@"; do
        set -- "$@" --probe "$probe"
        shift
    done
    ktop --batch --pane probes $only --format json -d 1 "$@" >/tmp/frames 2>/tmp/errors &
    watcher=$!
    i=0
    # Frames before the probes are defined and checked have no row. After two of them ktop's start is over.
    until [ "$(grep -c '"probes":\[{' /tmp/frames)" -ge 2 ]; do
        i=$((i + 1))
        [ $i -lt 1200 ] || fail "$name: no frame: $(cat /tmp/errors)"
        [ -d /proc/$watcher ] && kill -0 $watcher 2>/dev/null || { echo "refused $name $(cat /tmp/errors)"; return 1; }
        sleep 0.05
    done
}

echo "pids $a $b"
if recorded kernel "p:calls hrtimer_nanosleep ns=$first:s64" 'r:returns hrtimer_nanosleep ret=$retval:s64'; then
    echo "s 200 100000" >/tmp/a
    told /tmp/a.out 1
    ended 3
fi
# A call that sleeps has the only return instance; the 50 of the other program have none, and the one after it again. The shell must not
# sleep meanwhile: its sleeps are calls as well.
answers() {
    until [ "$(cat "$1" | wc -l)" -ge "$2" ]; do :; done
}
only=
if recorded lost 'r1:returns hrtimer_nanosleep ret=$retval:s64'; then
    reading=$(cut -d' ' -f1 /proc/$a/syscall)
    echo "s 1 4000000000" >/tmp/a
    while :; do
        now=$(cut -d' ' -f1 /proc/$a/syscall)
        [ "$now" = "$reading" ] || [ "$now" = running ] || break
    done
    echo "s 50 100000" >/tmp/b
    answers /tmp/b.out 1
    [ "$(cat /tmp/a.out | wc -l)" = 1 ] || fail "the long call ended too early"
    answers /tmp/a.out 2
    echo "s 1 100000" >/tmp/b
    answers /tmp/b.out 2
    ended 3
fi
only="--pid $a,$b"
if recorded user "p:calls $program:work number=$first:s32" "r:returns $program:work ret=\$retval:s32"; then
    echo "w 300" >/tmp/a
    told /tmp/a.out 3
    ended 3
fi
if recorded fprobe "f:calls hrtimer_nanosleep ns=rqtp" 'f:returns hrtimer_nanosleep%return ret=$retval:s64'; then
    echo "s 100 100000" >/tmp/a
    told /tmp/a.out 4
    ended 3
fi
if recorded event 'e:calls syscalls.sys_enter_getpriority which=$which:s32'; then
    before=$(wc -l </tmp/a.out)
    echo "g 100" >/tmp/a
    told /tmp/a.out $((before + 1))
    ended 3
fi
only="--pid $a,$b --stacks"
if recorded stacks "p:calls hrtimer_nanosleep ns=$first:s64"; then
    before=$(wc -l </tmp/a.out)
    echo "s 20 100000" >/tmp/a
    told /tmp/a.out $((before + 1))
    ended 3
fi
if recorded nothing 'p no_such_function'; then fail "a function that does not exist was accepted"; fi
if recorded nothing 'p vfs_read x=%nosuch'; then fail "a register that does not exist was accepted"; fi

recorded killed "p:calls hrtimer_nanosleep ns=$first:s64" "p $program:work" || fail "refused"
grep -q ktop_ $tracing/dynamic_events || fail "no probes before SIGKILL"
kill -KILL $watcher
state_returns SIGKILL 50
echo "after SIGKILL the state is as before"
kill $a $b
