# Incidents that would harm the host: the clock is set back, one process takes most of the machine's memory, another one
# finds memory in small pieces only (where pages of 64 kB can be used), and the table of connections is full (where the
# module can be loaded so that it tracks them without a firewall).
. /lib.sh

# begin: starts ktop, and waits for three frames. before: the frames before the incident.
begin() {
    : >/tmp/frames
    ktop --batch --pane triage --format json -d 0.7 >/tmp/frames 2>/tmp/errors &
    watcher=$!
    frames_come 3 30
    before=$(wc -l </tmp/frames)
}

# end NAME [PID]: prints the frames of the incident; each has a ktop of its own, as an event stays among the findings.
end() {
    ktop_end
    sed "s/^/frame $1 /" /tmp/frames
    echo "begins $1 $before ${2:-0}"
}

begin
date -s "@$(($(date +%s) - 3600))" >/dev/null || fail "cannot set the clock"
frames_come $((before + 4)) 30
end clock
begin
free=$(awk '/MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
dd if=/dev/zero of=/dev/null bs=$((free * 93 / 100))M 2>/dev/null &
taker=$!
i=0
until awk '/MemTotal/ { all = $2 } /MemAvailable/ { exit !($2 < all / 12) }' /proc/meminfo; do
    i=$((i + 1))
    [ $i -lt 600 ] || fail "memory is not used"
    sleep 0.1
done
i=0
until grep -q '"kind":"memory_low"' /tmp/frames || [ $i -ge 600 ]; do
    i=$((i + 1))
    sleep 0.1
done
frames_come $(($(wc -l </tmp/frames) + 4)) 60 # an emulated ktop reads symbols for seconds, and is the first finding
kill -9 $taker
wait $taker
end memory $taker
huge=/sys/kernel/mm/transparent_hugepage
if [ -w $huge/hugepages-64kB/enabled ]; then # Linux 6.8: an emulated machine compacts too slowly for pages of 2 MB
    echo never >$huge/hugepages-2048kB/enabled
    echo madvise >$huge/hugepages-64kB/enabled
    echo madvise >$huge/enabled
    echo madvise >$huge/defrag
    begin
    free=$(awk '/MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
    fragment $((free * 85 / 100)) 64 >/tmp/fragment &
    taker=$!
    patience=60 told /tmp/fragment 1
    # An emulated kernel takes seconds to attach the programs that count whose stalls they are.
    i=0
    until grep -q "\"kind\":\"compaction\"[^}]*\"culprit_pid\":$taker," /tmp/frames || [ $i -ge 600 ]; do
        i=$((i + 1))
        sleep 0.1
    done
    frames_come $(($(wc -l </tmp/frames) + 2)) 60
    grep compact_stall /proc/vmstat
    kill -9 $taker
    wait $taker
    end compaction $taker
fi
if most=/proc/sys/net/netfilter/nf_conntrack_max; [ -w $most ]; then
    ip link set lo up
    echo 500 >$most
    begin
    flows 600 >/tmp/flows &
    sender=$!
    patience=10 told /tmp/flows 1
    frames_come $((before + 5)) 30
    kill -9 $sender
    wait $sender
    end connections
fi
none_left
