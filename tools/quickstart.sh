#!/bin/bash
# SPDX-License-Identifier: MIT
#
# From a fresh clone to profiles in TensorBoard: installs what that needs (root or sudo), builds
# hipboard, trains the digits sample twice and says how to look at it.
#
#   bash tools/quickstart.sh
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
runs=$PWD/runs
log=$(mktemp)
trap 'rm -f "$log"' EXIT

say() { echo "hipboard: $*"; }

# Runs a command quietly; shows what it said when it fails.
quietly() {
    "$@" >"$log" 2>&1 </dev/null && return
    tail -n 40 "$log" >&2
    say "failed: $*" >&2
    exit 1
}

# The newest runs only: TensorBoard takes every file of a directory for one more profile.
train() {
    local workers=$1 logdir=$runs/digits_workers$1
    rm -rf "$logdir"
    say "training the digits sample with $workers data loader workers"
    build/samples/digits/digits --workers "$workers" --logdir "$logdir"
}

bash tools/setup.sh build view
say "building"
[ -f build/build.ninja ] || quietly meson setup build
quietly ninja -C build samples/digits/digits tools/hipboard/hipboard
train 0
train 2
echo
find "$runs" -name '*.pt.trace.json*' -printf '%10s bytes  %P\n' | sort -k 3
echo
say "now look at it, at http://localhost:6006/#pytorch_profiler:"
echo
printf '    %q --logdir %q\n' "$PWD/.venv/bin/tensorboard" "$runs"
echo
