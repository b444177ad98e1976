#!/usr/bin/env bash
# needs: apt for the arm64 libraries (beside, once); the static binaries of both architectures build, have no dependencies, and run
set -eu
cd "$(dirname "$0")/.."
if ! command -v apt-get >/dev/null; then
    echo "the arm64 static libraries need apt-get, which is not installed"
    exit 77
fi
.ci/install check-static
make --no-print-directory -s -j"$(nproc)" static
make --no-print-directory -s -j"$(nproc)" static ARCH=arm64
native=build/static/ktop
[ "$(uname -m)" = x86_64 ] || { echo "supports only x86-64 machines"; exit 77; }

for binary in $native build/static-arm64/ktop; do
    [ -x $binary ] || { echo "FAIL: $binary was not built"; exit 1; }
    if readelf -l "$binary" | grep -q INTERP; then echo "FAIL: $binary needs a dynamic loader"; exit 1; fi
    if readelf -S "$binary" | grep -q '\.symtab'; then echo "FAIL: $binary is not stripped"; exit 1; fi
    echo "$binary: $(stat -c %s $binary) bytes"
done
want=$(build/ktop --version)
[ "$($native --version)" = "$want" ] || { echo "FAIL: $native --version"; exit 1; }
[ "$(qemu-aarch64-static build/static-arm64/ktop --version)" = "$want" ] || { echo "FAIL: arm64 --version"; exit 1; }

# In an empty root file system: no libraries, no terminfo, no locale, no passwd.
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cp $native "$root/ktop"
mkdir "$root/proc" "$root/sys" "$root/dev"
out=$(unshare -m --propagation private sh -c "mount --rbind /proc '$root/proc'; mount --rbind /sys '$root/sys'; mount --rbind /dev '$root/dev'; \
    chroot '$root' /ktop --batch --pane triage,tasks --format json -n 2 -d 0.3")
[ "$(printf '%s\n' "$out" | jq -s 'length')" = 4 ] || { echo "FAIL: the static binary in an empty root wrote: $out"; exit 1; }
# Also the screen there.
unshare -m --propagation private sh -c "mount --rbind /proc '$root/proc'; mount --rbind /sys '$root/sys'; mount --rbind /dev '$root/dev'; \
    exec tmux -L ktop-static-$$ -f /dev/null new-session -d -x 80 -y 24 'chroot $root /ktop'"
screen=
for _ in $(seq 50); do
    screen=$(tmux -L ktop-static-$$ capture-pane -p || true)
    case "$screen" in *CPU*) break ;; esac
    sleep 0.1
done
tmux -L ktop-static-$$ send-keys q
sleep 0.5
tmux -L ktop-static-$$ kill-server 2>/dev/null || true
case "$screen" in
*CPU*) ;;
*) echo "FAIL: no screen from the static binary without a terminfo database:"; printf '%s\n' "$screen"; exit 1 ;;
esac
qemu-aarch64-static build/static-arm64/ktop --batch --pane triage --format json -n 1 -d 0.3 | jq -e .pane >/dev/null
