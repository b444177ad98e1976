#!/usr/bin/env bash
# needs: tmux (san beside); the panes, keys, prompts, rewind, resize, Ctrl-Z and files of the real program in a real terminal
set -u
cd "$(dirname "$0")/.."
KTOP=$(realpath "${KTOP:-build/ktop}")
command -v tmux >/dev/null || { echo "tmux is not installed"; exit 77; }
here=$(mktemp -d)
server=0
tm() { tmux -L "ktop$$-$server" "$@" 2>/dev/null; }
trap 'tm kill-server; rm -rf "$here"' EXIT
bad=0
fail() { echo "FAIL: $*"; tm capture-pane -p 2>/dev/null | sed 's/^/    |/' | head -30; bad=1; }
screen() { tm capture-pane -p; }
# sees TEXT [SECONDS]: waits until the screen shows TEXT (a basic regular expression)
sees() {
    local n=0
    until screen | grep -q -- "$1"; do
        n=$((n + 1))
        [ $n -lt $((${2:-5} * 20)) ] || return 1
        sleep 0.05
    done
}
lacks() {
    local n=0
    while screen | grep -q -- "$1"; do
        n=$((n + 1))
        [ $n -lt $((${2:-5} * 20)) ] || return 1
        sleep 0.05
    done
}
keys() { tm send-keys "$@"; }
expect() { sees "$2" "${3:-5}" || fail "$1: the screen lacks '$2'"; }

panes=$("$KTOP" --list panes)
start() { # COLUMNS ROWS OPTIONS: in a shell, so that the terminal state after exit can be checked
    tm kill-server
    server=$((server + 1)) # a new server: the old one may take a while to exit
    tm -f /dev/null new-session -d -x "$1" -y "$2" "cd '$here' && PS1='prompt> ' exec bash --norc --noprofile -i"
    tm set -g status off
    tm resize-window -x "$1" -y "$2" 2>/dev/null
    sees 'prompt>' || { echo "FAIL: no shell in tmux"; exit 1; }
    keys "stty -a >before; '$KTOP' -d 0.5 ${3:-}; echo ended=\$?; stty -a >after" Enter
}

# ---- every pane at every size ----
for size in 80x24 120x40 200x50 40x10; do
    start "${size%x*}" "${size#*x}"
    expect "$size: start" ' live *$' 10
    while read -r name key rest; do
        keys "$key"
        expect "$size: pane $name" "$key $name" 3
        sees ' live *$' 3 || fail "$size: pane $name: header"
    done <<<"$panes"
    # Tab through all panes: back at the first one.
    last=$(tail -n 1 <<<"$panes" | awk '{print $1}')
    for _ in $panes; do :; done
    for _ in $(seq "$(wc -l <<<"$panes")"); do keys Tab; done
    expect "$size: Tab round" " $last" 3
    keys BTab
    before=$(tail -n 2 <<<"$panes" | head -n 1 | awk '{print $1}')
    expect "$size: Shift-Tab" " $before" 3
    keys h
    expect "$size: help" "help: $before"
    keys q
    lacks "help: $before" || fail "$size: q does not close the help"
    keys q
    expect "$size: q" 'ended=0'
    cmp -s "$here/before" "$here/after" || fail "$size: stty differs: $(diff "$here/before" "$here/after")"
    screen | grep -q ' live *$' && fail "$size: ktop did not leave the alternate screen"
    [ "$(tm display-message -p '#{cursor_flag}#{alternate_on}#{mouse_any_flag}')" = 100 ] || fail "$size: cursor, screen or mouse: $(tm display-message -p '#{cursor_flag}#{alternate_on}#{mouse_any_flag}')"
done

# ---- key sequences missing in terminfo have no effect, Escape goes back ----
start 80 24 '-P memory'
expect 'unknown keys: start' ' live *$' 10
for sequence in '\e[1;5C' '\e[15;2~' '\e[<0;60;3M' '\e[[B' '\eO5P' '\e[5;6~'; do
    tm send-keys -l "$(printf "$sequence")"
    keys H # a known key after it, to ensure that the whole sequence has been read
    keys H
done
sleep 0.3
expect 'unknown keys: the pane' '4 memory'
expect 'unknown keys: the time' ' live *$' 1
keys h
expect 'unknown keys: help' 'help: memory'
keys Escape
lacks 'help: memory' || fail 'unknown keys: Escape does not close the help'
keys q

# ---- a long filter does not hide the end of the last line ----
start 60 12 '-P disk'
expect 'narrow: parts without room' '^more: .*Rec' 10
keys '\'
tm send-keys -l 'nothing has such a long name as this filter has'
keys Enter
expect 'narrow: filter and parts' '^ filter: nothing has such a '
keys q

# ---- keys, at 100x30 ----
start 100 30 "-P tasks"
expect start ' live *$' 10
keys '?'
expect 'help' 'help: tasks'
keys End
expect 'help: the global keys' 'Ctrl-L'
keys Escape
lacks 'help: tasks' || fail "Esc does not close the help"
keys '\'
expect 'filter prompt' '^filter:'
tm send-keys -l 'bashxx'
keys BSpace BSpace
expect 'filter edited' 'filter: bash *$'
keys Enter
expect 'filter shown' ' filter: bash '
expect 'filtered' 'bash'
keys Escape
lacks ' filter: bash ' || fail "Esc does not remove the filter"
keys '\'
tm send-keys -l 'zzz'
keys Escape
lacks 'filter: ' || fail "Esc does not cancel the prompt"
keys /
tm send-keys -l 'bash'
expect 'search prompt' 'search: bash'
keys Enter
lacks 'search: bash' || fail "Enter does not close the search prompt"
keys n
keys /
tm send-keys -l 'no such thing'
keys Enter
expect 'not found' 'not found: no such thing'
keys Space
expect 'frozen' 'frozen\|rewound'
clock() { screen | head -n 1 | grep -o '[0-9][0-9]:[0-9][0-9]:[0-9][0-9]'; }
at=$(clock)
sleep 1.2
[ "$(clock)" = "$at" ] || fail "frozen, but the time changed"
keys '['
expect 'stepped back' 'rewound -[0-9.]* s'
age() { screen | head -n 1 | grep -o 'rewound -[0-9]*' | tr -dc '0-9'; }
keys '{'
sleep 0.3
keys 1
expect 'another pane at the same time' 'rewound -[0-9.]* s'
keys 2
keys g
expect 'live again' ' live *$'
keys b
expect 'time prompt' 'go to a time\|go to time'
tm send-keys -l -- '-2'
keys Enter
expect 'went to a time' 'rewound -[0-9.]* s'
keys b
tm send-keys -l 'noon'
keys Enter
expect 'not a time' 'invalid time'
keys g
keys d
expect 'delay prompt' 'seconds between frames: 0.5'
keys C-u
tm send-keys -l '0.2'
keys Enter
expect 'delay set' 'every 0.2 s'
keys d
keys C-u
tm send-keys -l '99'
keys Enter
expect 'delay refused' '0.1 to 60'
keys H
expect 'threads' '^threads *$'
keys H
expect 'processes again' '^processes *$' # the collector's answer, which would replace what the next key says
keys p
expect 'pinned' 'pinned'
expect 'the star in the bar' 'tasks\*'
for name in out.txt out.csv out.json; do
    keys w
    expect 'write prompt' 'write to .*tasks-[0-9]*-[0-9]*.txt'
    keys C-u
    tm send-keys -l "$name"
    keys Enter
    expect "written $name" "written: $name"
done
grep -q 'tasks\*' "$here/out.txt" || fail "out.txt is not the screen: $(head -3 "$here/out.txt")"
grep -q '^write to' "$here/out.txt" && fail "out.txt contains the prompt"
head -n 1 "$here/out.csv" | grep -q 'pid' || fail "out.csv: $(head -n 1 "$here/out.csv")"
if command -v jq >/dev/null; then jq -e '.pane == "tasks"' "$here/out.json" >/dev/null || fail "out.json"; fi
keys w
keys C-u
tm send-keys -l out.txt
keys Enter
expect 'no overwriting' 'exists: choose another name'
keys w
keys C-u
tm send-keys -l /nonexistent/x.txt
keys Enter
expect 'cannot write' 'cannot write /nonexistent/x.txt: No such file'
for k in '<' '>' I Down Down PageDown PageUp Home End Up Enter Escape Left Right f Escape o 'C-l' F1 Escape F4 Escape n N x y z '}' ']'; do keys "$k"; done
sleep 0.3
keys g
expect 'still there' ' live *$'

# ---- mouse: a click on the pane bar ----
column=$(screen | sed -n 2p | awk '{print index($0, "4 m")}')
click() { keys -l "$(printf "$(printf '\\033[M \\%03o\\%03o\\033[M#\\%03o\\%03o' $(($1 + 32)) $(($2 + 32)) $(($1 + 32)) $(($2 + 32)))")"; }
click "$column" 2
keys h
expect 'a click on the pane bar' 'help: memory'
keys Escape 2
click 10 12
sleep 0.2
expect 'a click on a row' ' live *$'

# ---- Ctrl-Z and back, many resizes ----
keys C-z
expect 'stopped' 'Stopped'
[ "$(tm display-message -p '#{alternate_on}')" = 0 ] || fail "stopped, but the alternate screen is on"
keys fg Enter
expect 'resumed' ' live *$'
# SIGSTOP cannot be caught: ktop restores nothing, and the shell changes the terminal settings.
pid=$(pgrep -P "$(tm display-message -p '#{pane_pid}')" -x ktop)
kill -STOP "$pid"
expect 'stopped by SIGSTOP' 'Stopped'
tm resize-window -x 120 -y 32 # SIGWINCH goes to the shell, not to the stopped ktop
keys 'until [ "$(stty size)" = "32 120" ]; do sleep 0.05; done; fg' Enter
expect 'resumed after SIGSTOP, at the current size' '^.\{110\}.* live *$' # beyond the old width
at=$(clock)
n=0
while [ "$(clock)" = "$at" ] && [ $n -lt 100 ]; do
    n=$((n + 1))
    sleep 0.05
done
[ $n -lt 100 ] || fail 'resumed after SIGSTOP, but the time does not advance'
keys 3
keys h
expect 'keys work after SIGSTOP' 'help: cpus'
keys Escape
lacks 'help: cpus' || fail 'Esc after SIGSTOP does not close the help'
for _ in $(seq 15); do
    tm resize-window -x $((RANDOM % 150 + 1)) -y $((RANDOM % 50 + 1)) 2>/dev/null
done
tm resize-window -x 40 -y 10
expect 'after many resizes' ' live *$'
tm resize-window -x 120 -y 40
expect 'and larger' 'network' 5
keys q
expect 'the prompt' '^prompt> *$' 10
keys 'stty -a >again; echo status=$?' Enter
expect 'ended' 'status=0'
tail -n +2 "$here/before" | diff - <(tail -n +2 "$here/again") || fail "stty differs after Ctrl-Z, fg and q" # the first line has the terminal size
exit $bad
