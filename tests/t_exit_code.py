#!/usr/bin/env python3
# needs: once beside; the exit status with --exit-code is that of the most severe finding; a thresholds file changes what is one
import json
import os
import resource
import subprocess
import sys
import tempfile

from ktop import KTOP, SLOW, check, failed

# At its limit of file descriptors: a critical finding.
LEAK = """
import os, time
files = []
try:
    while True:
        files.append(os.dup(0))
except OSError:
    print("full", flush=True)
time.sleep(600)
"""


def run(*arguments, **more):
    return subprocess.run([KTOP, "-b", "-P", "triage", "-F", "json", "-d", "0.5", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120 * SLOW, **more)


def worst(p):
    found = {row["severity"] for line in p.stdout.splitlines() for row in json.loads(line)["tables"]["findings"]}
    return 4 if "critical" in found else 3 if "warning" in found else 0


p = run("-n", "4", "--exit-code")
check(p.returncode == worst(p), f"as the machine is: status {p.returncode}, the findings are worth {worst(p)} {p.stderr}")
leak = subprocess.Popen([sys.executable, "-c", LEAK], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
try:
    leak.stdout.readline()
    p = run("-n", "16", "--exit-code")
    kinds = {row["kind"] for line in p.stdout.splitlines() for row in json.loads(line)["tables"]["findings"] if row["culprit_pid"] == leak.pid}
    check(p.returncode == 4 and "fd_limit" in kinds, f"with a critical finding: status {p.returncode}, kinds {kinds} {p.stderr}")
    with tempfile.TemporaryDirectory(prefix="t_exit_code.") as home:
        os.mkdir(home + "/ktop", 0o755)
        with open(home + "/ktop/thresholds", "w") as f:
            f.write("fd_limit.used_pct = 1000 %\n")
        os.chmod(home + "/ktop/thresholds", 0o644)
        env = dict(os.environ, XDG_CONFIG_HOME=home)
        p = run("-n", "8", env=env)
        found = {(row["kind"], row["culprit_pid"]) for line in p.stdout.splitlines() for row in json.loads(line)["tables"]["findings"]}
        check(not p.stderr and ("fd_limit", leak.pid) not in found, f"above the threshold of a file: {p.stderr} {found}")
        rules = subprocess.run([KTOP, "--list", "rules"], env=env, capture_output=True, text=True, timeout=60 * SLOW).stdout
        check("  fd_limit.used_pct = 1000 %  # default: 90 %\n" in rules, "--list rules has the threshold in force")
        with open(home + "/ktop/thresholds", "a") as f:
            f.write("fd_limit.used = 1\n")
        p = run("-n", "1", env=env)
        note = [note["text"] for line in p.stdout.splitlines() for note in json.loads(line)["notes"] if "thresholds:2: " in note["text"]]
        check(p.returncode == 0 and p.stderr.count("\n") == 1 and note and note[0] in p.stderr, f"a bad file: {p.returncode} {p.stderr} {note}")
    p = run("-n", "2")
    check(p.returncode == 0, f"without --exit-code: status {p.returncode}")
finally:
    leak.kill()
    leak.wait()
p = subprocess.run([KTOP, "--exit-code"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60 * SLOW)
check(p.returncode == 2 and p.stderr.count("\n") == 1 and "--batch" in p.stderr, f"without --batch: {p.stderr.strip()}")
sys.exit(1 if failed else 0)
