#!/usr/bin/env python3
# needs: root, cc, chromium (once); the files that `w` writes of a flame graph: they add up, and zoom and search of the picture work in a browser
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from shutil import which

from ktop import HERE, KTOP, check, failed, need_root, skip_part
from terminal import Terminal

SVG = "{http://www.w3.org/2000/svg}"
FILES = ("p.svg", "p.folded", "p.json", "p.pb.gz", "p.perf")
WIDTH = 1180  # of the frames
# Appended to the picture: uses it as a reader would, and leaves what it shows after each step in the document.
DRIVER = """<script><![CDATA[
(function () {
  var steps = [], by = function (id) { return document.getElementById(id); };
  var click = function (node, type) { node.dispatchEvent(new MouseEvent(type || 'click', {bubbles: true})); };
  var frame = function (name) {
    return Array.from(document.querySelectorAll('#graph > g')).find(function (g) {
      return g.querySelector('title').textContent.split('\\n')[0] === name; });
  };
  var width = function (name) { return Number(frame(name).querySelector('rect').getAttribute('width')); };
  var step = function () {
    steps.push({shown: document.querySelectorAll('#graph > g:not(.away)').length, found: document.querySelectorAll('#graph > .found').length,
                matched: by('matched').textContent, details: by('details').textContent, sixty: width('sixty'), hash: location.hash,
                away: frame('thirty').classList.contains('away'), reset: by('reset').style.display});
  };
  var key = function (name) { window.dispatchEvent(new KeyboardEvent('keydown', {key: name})); };
  window.prompt = function () { return 'THIRTY'; };
  step();
  click(by('search'));
  step();
  click(frame('sixty').querySelector('rect'), 'mouseover');
  click(frame('sixty').querySelector('rect'));
  step();
  key('Escape');
  key('Escape');
  step();
  document.documentElement.setAttribute('data-steps', JSON.stringify(steps));
})();
]]></script>
</svg>"""


def load(directory):
    flags = ["-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-I", os.path.join(HERE, "data")]
    library, program = os.path.join(directory, "libprofile.so"), os.path.join(directory, "profile_load")
    subprocess.run(["cc", *flags, "-shared", "-fPIC", "-o", library, os.path.join(HERE, "data", "profile_lib.c")], check=True)
    subprocess.run(["cc", *flags, "-o", program, os.path.join(HERE, "data", "profile_load.c"), library, f"-Wl,-rpath,{directory}"], check=True)
    return subprocess.Popen([program, "shares"], stdin=subprocess.PIPE)


def write_files(directory, pid):
    """All files of one frozen frame. False: the pane did not write them."""
    t = Terminal([KTOP, "-P", "profile", "-d", "0.5"], 140, 45)
    try:
        t.wait_for(b"Flame graph", 20)
        t.send(f"\\pid={pid}\r")
        if not t.wait_for(b"sixty", 20):
            return check(False, f"the flame graph shows the load: {re.sub(rb'[^ -~]+', b' ', t.raw[-800:])!r}")
        t.pump(3)
        t.send(" ")
        t.wait_for(b"frozen", 5)
        for name in FILES:
            t.send("w")
            t.pump(0.3)
            t.send("\x15" + os.path.join(directory, name) + "\r")
            t.pump(0.7)
        t.send("q")
        check(t.wait(10) == 0, "exit status")
    finally:
        t.end()
    return check(all(os.path.exists(os.path.join(directory, name)) for name in FILES), "every format is written")


def folded(directory):
    with open(os.path.join(directory, "p.folded"), encoding="utf-8") as f:
        return [(stack.split(";"), int(count)) for stack, count in (line.rstrip("\n").rsplit(" ", 1) for line in f)]


def fields(message):
    """The fields of a protocol buffer's message: (number, integer or bytes)."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            value |= (message[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if message[at - 1] < 128:
                return value
    while at < len(message):
        tag = varint()
        value = varint()
        if tag & 7 == 2:
            at, value = at + value, message[at:at + value]
        yield tag >> 3, value


def varints(message):
    value = shift = 0
    for byte in message:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def pprof_stacks(profile):
    """Samples by stack, the process first, as profile.proto defines them."""
    samples, strings, locations, functions, stacks = [], [], {}, {}, {}
    for number, value in fields(profile):
        if number == 2:
            samples.append(dict(fields(value)))
        elif number == 4:
            location = dict(fields(value))
            locations[location[1]] = dict(fields(location[4]))[1]
        elif number == 5:
            function = dict(fields(value))
            functions[function[1]] = function[2]
        elif number == 6:
            strings.append(value.decode())
    for sample in samples:
        stack = tuple(strings[functions[locations[at]]] for at in reversed(list(varints(sample[1]))))
        stacks[stack] = stacks.get(stack, 0) + next(varints(sample[2]))
    return stacks


def script(directory, n, thirty):
    """The text of perf script, by the expressions with which FlameScope reads it."""
    event, frame = re.compile(r" +([0-9.]+): .+?:"), re.compile(r"^[\t ]*[0-9a-fA-F]+ (.+) \((.*?)\)$")
    times, stacks, names = [], [], set()
    with open(os.path.join(directory, "p.perf"), encoding="utf-8") as f:
        for line in f.read().splitlines():
            if line and line[0] != "\t":
                names.add(line.split()[0])
                times.append(float(event.search(line).group(1)))
                stacks.append([])
            elif line:
                stacks[-1].append(frame.match(line).group(1))
    check(names == {"profile_load"}, f"perf script: the processes: {names}")
    check(len(stacks) == n, f"perf script: {len(stacks)} samples")
    check(sum("thirty" in stack for stack in stacks) == thirty, "perf script: the samples of thirty")
    check(times == sorted(times) and len(set(times)) > n / 2, "perf script: the times of the samples")


def speedscope_form(profile):
    """Whether the file has what speedscope's published format (file-format-spec.ts) requires, and nothing else."""
    number = (int, float)
    units = "none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"
    whole = {"$schema": str, "shared": dict, "profiles": list, "name": str, "activeProfileIndex": int, "exporter": str}
    sampled = {"type": str, "name": str, "unit": str, "startValue": number, "endValue": number, "samples": list, "weights": list}
    frame = {"name": str, "file": str, "line": int, "col": int}

    def fits(value, form, required):
        return isinstance(value, dict) and set(required) <= set(value) <= set(form) and all(isinstance(v, form[k]) for k, v in value.items())

    good = fits(profile, whole, ("$schema", "shared", "profiles")) and profile["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    good = good and set(profile["shared"]) == {"frames"} and all(fits(f, frame, ("name",)) for f in profile["shared"]["frames"])
    frames = len(profile["shared"]["frames"]) if good else 0
    for p in profile["profiles"] if good else ():
        good = good and fits(p, sampled, sampled) and p["type"] == "sampled" and p["unit"] in units and len(p["samples"]) == len(p["weights"])
        good = good and p["startValue"] <= p["endValue"] and all(isinstance(w, number) for w in p["weights"])
        good = good and all(isinstance(at, int) and 0 <= at < frames for stack in p["samples"] for at in stack)
    return good, "speedscope: the file has the published form"


def sums(directory, stacks):
    n = sum(count for _, count in stacks)
    thirty = sum(count for stack, count in stacks if "thirty" in stack)
    check(n >= 60, f"{n} samples of the load")
    check(all(stack[0] == "profile_load" for stack, _ in stacks), "the filter holds for the file")
    graph = next(g for g in ElementTree.parse(os.path.join(directory, "p.svg")).getroot().iter(SVG + "g") if g.get("id") == "graph")
    check(graph[0].get("data-f") == f"0 {n} 0", f"the picture has {n} samples: {graph[0].get('data-f')}")
    with open(os.path.join(directory, "p.json"), encoding="utf-8") as f:
        profile = json.load(f)
    check(sum(profile["profiles"][0]["weights"]) == profile["profiles"][0]["endValue"] == n, "speedscope: the weights add up")
    names = [frame["name"] for frame in profile["shared"]["frames"]]
    in_thirty = sum(w for s, w in zip(profile["profiles"][0]["samples"], profile["profiles"][0]["weights"]) if names.index("thirty") in s)
    check(*speedscope_form(profile))
    check(in_thirty == thirty, f"speedscope: {in_thirty} samples of thirty, {thirty} in the folded text")
    pprof = pprof_stacks(gzip.open(os.path.join(directory, "p.pb.gz")).read())
    check(sum(pprof.values()) == n, f"pprof: {sum(pprof.values())} samples")
    check(sum(count for stack, count in pprof.items() if "thirty" in stack) == thirty, "pprof: the samples of thirty")
    script(directory, n, thirty)
    return 100 * thirty / n


def browser(directory, matched):
    if not which("chromium"):
        skip_part("no chromium: the picture was not opened in a browser")
        return
    with open(os.path.join(directory, "p.svg"), encoding="utf-8") as f:
        picture = f.read()
    path = os.path.join(directory, "driven.svg")
    with open(path, "w", encoding="utf-8") as f:
        f.write(picture[:picture.rindex("</svg>")] + DRIVER)
    page = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={directory}/chromium", "--dump-dom", "file://" + path],
                          capture_output=True, text=True, timeout=120)
    found = re.search(r'data-steps="([^"]*)"', page.stdout)
    if not check(found is not None, "the script of the picture runs: " + ("" if found else page.stderr[-500:])):
        return
    opened, searched, zoomed, back = json.loads(found.group(1).replace("&quot;", '"').replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&"))
    check(opened["matched"] == "" and opened["reset"] == "none" and opened["found"] == 0, "it opens without search and zoom")
    share = re.fullmatch(r'"THIRTY" matched: ([0-9.]+)%', searched["matched"])
    check(share is not None and abs(float(share.group(1)) - matched) <= 0.0501, f"search: {searched['matched']}, {matched:.2f}% in the folded text")
    check(searched["found"] >= 1 and searched["hash"] == "#s=THIRTY", "search: what matches is marked, and the address keeps it")
    check(abs(zoomed["sixty"] - WIDTH) < 1e-6 and zoomed["away"] and zoomed["shown"] < opened["shown"], "zoom: the frame takes the whole width")
    check(zoomed["details"].startswith("sixty ") and " samples, " in zoomed["details"], f"details: {zoomed['details']}")
    check(zoomed["reset"] == "inline" and zoomed["matched"].endswith(" 0.0%"), "zoom: the share is that of the zoomed frame")
    check({**back, "details": "", "hash": ""} == {**opened, "hash": ""}, "Esc goes back")


def main():
    need_root("samples of every CPU")
    with tempfile.TemporaryDirectory(prefix="ktop-flame-") as directory:
        program = load(directory)
        try:
            if write_files(directory, program.pid):
                browser(directory, sums(directory, folded(directory)))
        finally:
            program.stdin.close()
            program.wait()
    return 1 if failed else 0


sys.exit(main())
