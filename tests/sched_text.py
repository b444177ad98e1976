"""Scheduler events from the kernel's trace text: the reference for ktop's wait times, computed event by event."""
import os
import re
import time


class Text:
    """A second trace instance, whose text is the reference. With the x86-tsc clock timestamps are in cycles."""

    LINE = re.compile(r"^\s*(.{1,16})-(\d+)\s+\[(\d+)\]\s+(\S+)\s+([\d.]+): (sched_\w+|tracing_mark_write): (.*)$")
    SWITCH = re.compile(r"prev_comm=.* prev_pid=(\d+) prev_prio=-?\d+ prev_state=(\S+) ==> next_comm=.* next_pid=(\d+) next_prio")
    PID = re.compile(r"comm=.* pid=(\d+) prio")
    EVENTS = "sched_waking", "sched_wakeup", "sched_wakeup_new", "sched_switch"  # ktop does not record sched_wakeup; the reference needs it

    def __init__(self, trace, gaps):
        """gaps: a list that receives a text for each loss of events."""
        self.trace, self.gaps, self.dir = trace, gaps, f"instances/truth-{os.getpid()}"
        os.mkdir(f"{trace.path}/{self.dir}")
        self.cycles = "x86-tsc" in trace.read(f"{self.dir}/trace_clock")
        trace.write(f"{self.dir}/trace_clock", "x86-tsc" if self.cycles else "mono")
        trace.write(f"{self.dir}/buffer_size_kb", "65536")
        self.marks = []
        self.mark()
        for event in self.EVENTS:
            trace.write(f"{self.dir}/events/sched/{event}/enable", "1")

    def mark(self):
        """Writes marks at known times, to convert the text's timestamps; the mark with the shortest write is used."""
        tries = []
        for i in range(9):
            before = time.time()
            self.trace.write(f"{self.dir}/trace_marker", f"m{len(self.marks)} {i}\n")
            after = time.time()
            tries.append((after - before, (before + after) / 2, i))
        self.marks.append(min(tries))

    def remove(self):
        path = f"{self.trace.path}/{self.dir}"
        if os.path.isdir(path):
            self.trace.write(f"{self.dir}/events/enable", "0")
            os.rmdir(path)

    def end(self):
        """Returns the events as (ns since the epoch, cpu, name, text); None if the marks were lost."""
        self.mark()
        self.trace.write(f"{self.dir}/events/enable", "0")
        for cpu in os.listdir(f"{self.trace.path}/{self.dir}/per_cpu"):
            lost = re.search(r"^overrun: (\d+)$", self.trace.read(f"{self.dir}/per_cpu/{cpu}/stats"), re.M)
            if not lost or int(lost[1]):
                self.gaps.append(f"no gap, but the second instance lost {lost and lost[1]} events on {cpu}")
        raw, at = [], {}
        for line in self.trace.read(f"{self.dir}/trace").splitlines():
            found = self.LINE.match(line)
            if not found:
                continue
            stamp = int(found[5]) if self.cycles else int(found[5].replace(".", "")) * 1000
            if found[6] == "tracing_mark_write":
                at[found[7].strip()] = stamp
            else:
                raw.append((stamp, int(found[3]), found[6], found[7]))
        self.remove()
        (_, wall0, i0), (_, wall1, i1) = self.marks
        first, last = at.get(f"m0 {i0}"), at.get(f"m1 {i1}")
        if first is None or last is None:
            return None  # lost; gaps has the reason
        scale = (wall1 - wall0) * 1e9 / (last - first) if self.cycles else 1.0
        return [(int(wall0 * 1e9 + (stamp - first) * scale), cpu, event, text) for stamp, cpu, event, text in sorted(raw, key=lambda e: e[0])]

    @classmethod
    def waits(cls, events):
        """Returns (end, duration) of each run-queue wait, and of each off-CPU interval by kind. A wait starts with sched_waking. If
        sched_waking precedes the task's switch-out, there are two cases: the task stays on its CPU, and sched_wakeup precedes any
        switch; or the wakeup takes effect after the switch-out, and sched_wakeup follows the switch."""
        runnable, off, running, early, queue, kinds = {}, {}, set(), set(), [], {"sleep": [], "disk": [], "preempted": [], "stopped": []}
        for at, _, event, text in events:
            if event != "sched_switch":
                pid = int(cls.PID.match(text)[1])
                if event == "sched_waking" and pid in running:
                    early.add(pid)
                elif event == "sched_wakeup" and pid not in early:
                    continue  # sched_waking already counted it
                elif event == "sched_wakeup" and pid in off:
                    begun, kind = off.pop(pid)
                    kinds[kind].append((at, 0))
                    runnable[pid] = (begun, False)
                elif pid in off:
                    begun, kind = off.pop(pid)
                    kinds[kind].append((at, at - begun))
                    runnable[pid] = (at, False)
                elif pid not in runnable and pid not in running:
                    runnable[pid] = (at, False)
                if event == "sched_wakeup":
                    early.discard(pid)
                continue
            prev, state, following = cls.SWITCH.match(text).groups()
            prev, following = int(prev), int(following)
            running.discard(prev)
            runnable.pop(prev, None)
            early.discard(following)
            if prev and state[0] == "R":
                early.discard(prev)
                runnable[prev] = (at, True)
            elif prev and state[0] not in "XZ":
                off[prev] = (at, "disk" if "D" in state else "stopped" if state[0] in "Tt" else "sleep")
            if not following:
                continue
            running.add(following)
            off.pop(following, None)
            if following in runnable:
                begun, preempted = runnable.pop(following)
                queue.append((at, at - begun))
                if preempted:
                    kinds["preempted"].append((at, at - begun))
        return queue, kinds
