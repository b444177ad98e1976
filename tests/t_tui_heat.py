#!/usr/bin/env python3
# needs: root (beside); an invalid filter; from a heat map cell to the list of its I/Os and back, the heat map as an SVG file, the part bar, in a terminal
import os
import re
import sys
import tempfile
import threading
import xml.etree.ElementTree as ElementTree

from ktop import KTOP, skip
from terminal import Terminal

SVG = "{http://www.w3.org/2000/svg}"
stop = threading.Event()


def writes(path):
    """Writes and fsyncs until stopped."""
    with open(path, "wb", buffering=0) as f:
        while not stop.wait(0.005):
            f.write(b"x" * 4096)
            os.fsync(f.fileno())


def fail(t, what):
    print(f"{what}: {re.sub(rb'[^ -~]+', b' ', t.raw[-1500:])!r}")
    sys.exit(1)


def small():
    """At 80x24 the part bar names the parts that have no room."""
    t = Terminal([KTOP, "-P", "disk", "-d", "0.3"])
    try:
        if not t.wait_for(b"live", 20) or not t.wait_for(b"Recent I/Os", 20):
            fail(t, "the part bar does not name the parts without room")
        t.send("q")
        if t.wait(10) != 0:
            fail(t, "exit status")
    finally:
        t.end()


def wrong_filter(t):
    """The error is shown, and the filter can still be edited."""
    t.raw = b""
    t.send("\\latency_us>fast\r")
    if not t.wait_for(b"fast is not a number", 5):
        fail(t, "an invalid filter is accepted")
    t.raw = b""
    t.send("\x7f" * 4 + "1ms\r")
    if not t.wait_for(b"filter: latency_us>1ms", 5) or b"not a number" in t.raw:
        fail(t, "the edited filter is not applied")
    t.send("\033")
    if not t.wait_for(b"filter off", 5):
        fail(t, "the filter is not removed")


def focus_heat_map(t):
    """Moves the focus to the heat map: parts for errors and waits of any disk may precede it."""
    for _ in range(10):
        t.send("o")
        t.pump(0.2)
        t.raw = b""
        t.send("\x0c")
        t.pump(0.3)
        if re.search("▸[^─]*heat map".encode(), t.raw):
            return
    fail(t, "the heat map does not get the focus")


def own_disk(t, directory):
    """Filters on the disk that this test writes to: another disk may have been the busiest and be idle by now."""
    number = os.stat(directory).st_dev
    path = os.path.realpath(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if os.path.exists(path):
        whole = os.path.dirname(path) if os.path.exists(path + "/partition") else path
        t.send(f"\\device={os.path.basename(whole)}\r")


def main():
    if os.geteuid() != 0:
        skip("block events need root")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        load = threading.Thread(target=writes, args=(os.path.join(directory, "f"),), daemon=True)
        load.start()
        picture = os.path.join(directory, "map.svg")
        t = Terminal([KTOP, "-P", "disk", "-d", "0.3"], 140, 45)
        try:
            t.pump(4)
            wrong_filter(t)
            t.send("w")
            t.send("\x15" + picture + "\r")
            t.pump(1)
            if b"nothing was measured" in t.raw or b"not available" in t.raw:
                skip("no disk here has block events")
            root = ElementTree.parse(picture).getroot()
            cells = [r for r in root.iter(SVG + "rect") if r.find(SVG + "title") is not None]
            if root.tag != SVG + "svg" or not cells:
                fail(t, "no heat map in the SVG file")
            own_disk(t, directory)
            focus_heat_map(t)
            t.raw = b""
            t.send("w")
            if not t.wait_for(b".svg", 5) or not re.search(rb"ktop-disk-[0-9-]+[.]svg", t.raw):
                fail(t, "no SVG file name is proposed")
            t.send("\x15\r")
            t.send("\033OD")
            t.pump(0.3)
            t.send("\033OF")  # the newest column; its cells are tried from top to bottom
            for _ in range(45):
                t.send("\033OA")
            for _ in range(45):
                t.send("\r")
                t.pump(0.15)
                if re.search(rb"rewound|frozen", t.raw):  # rewound to the cell's time
                    break
                t.send("\033OB")
            else:
                fail(t, "Enter lists no I/Os")
            t.pump(0.5)
            if b"latency_us" not in t.raw:
                fail(t, "the list is not limited to the cell")
            t.raw = b""
            t.send("\033")
            t.pump(2)
            if b"live" not in t.raw:
                fail(t, "Esc does not go back")
            t.send("q")
            if t.wait(10) != 0:
                fail(t, "exit status")
            small()
        finally:
            stop.set()
            load.join()
            t.end()


main()
