#!/bin/bash
# SPDX-License-Identifier: MIT
#
# From a fresh clone to profiles in TensorBoard: installs what that needs (root or sudo), builds
# hipboard, trains the digits sample on the processor and on a GPU, records a HIP program, and says
# how to look at it all. Without an AMD GPU a simulated one takes its place.
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
fresh_run() {
    logdir=$runs/$1
    rm -rf "$logdir"
}

# train NAME WORKERS COMMAND...
train() {
    fresh_run "$1"
    say "training the digits sample with $2 data loader workers, into $1"
    "${@:3}" --workers "$2" --logdir "$logdir"
}

# A real one where there is one.
choose_gpu() {
    on_gpu=()
    if build/samples/digits/digits --check-device >"$log" 2>&1; then
        say "digits and plate run on the AMD GPU of this machine, $(tail -n 1 "$log")"
        return
    fi
    say "$(tail -n 1 "$log" | sed 's/^digits: //'): digits and plate run on a simulated one;" \
        "what they compute is right, its durations mean nothing"
    on_gpu=(tools/simhsa/run)
    export SIMHSA_KERNELS=build/samples/digits/digits_kernels.so:build/samples/plate/plate_kernels.so
}

# An unchanged program, which names no steps: it is recorded as a whole.
record() {
    fresh_run plate
    say "recording the plate sample, which knows nothing of hipboard"
    "${on_gpu[@]}" build/tools/hipboard/hipboard record -o "$logdir" -- build/samples/plate/plate
}

bash tools/setup.sh build view hip
say "building"
[ -f build/build.ninja ] || quietly meson setup build
quietly ninja -C build whole_command hip_samples
choose_gpu
train digits_workers0 0 build/samples/digits/digits
train digits_workers2 2 build/samples/digits/digits
train digits_hip 2 "${on_gpu[@]}" build/samples/digits/digits --device hip
record
echo
find "$runs" -name '*.pt.trace.json*' -printf '%10s bytes  %P\n' | sort -k 3
echo
say "now look at it, at http://localhost:6006/#pytorch_profiler:"
echo
printf '    %q --logdir %q\n' "$PWD/.venv/bin/tensorboard" "$runs"
echo
