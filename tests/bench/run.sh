#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Builds optimised, runs the benchmarks and prints hipboard's figures beside torch's.
#
#   bash tests/bench/run.sh [EVENTS]    events in a cycle that is exported (default 1000000)
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
events=${1:-1000000}
out=tests/out/bench

bash tools/setup.sh test
mkdir -p "$out"
[ -f build-bench/build.ninja ] ||
    meson setup build-bench --buildtype=release >"$out/setup.log"
ninja -C build-bench tests/bench/bench_{compare,cycle,event_log,gzip,operators,read,record,writer} tools/hipboard/hipboard >"$out/build.log" 2>&1 ||
    { tail -n 30 "$out/build.log"; exit 1; }
bench=build-bench/tests/bench
"$bench/bench_record" --json >"$out/record.json"
traces=$(mktemp -d)
trap 'rm -rf "$traces"' EXIT
"$bench/bench_cycle" "$traces" "$events" --json >"$out/cycle.json"
"$bench/bench_cycle" "$traces" "$events" gzip --json >"$out/cycle_gz.json"
.venv/bin/python tests/bench/bench_torch.py "$events" >"$out/torch.json" 2>"$out/torch.log"
grep -m 1 'model name' /proc/cpuinfo | sed 's/.*: //'
.venv/bin/python tests/bench/compare.py "$out/record.json" "$out/cycle.json" \
    "$out/cycle_gz.json" "$out/torch.json"
echo
"$bench/bench_writer" 1
"$bench/bench_operators"
echo
# Of recordings: a cycle of the benchmark's, one of torch's, and OpenMM's where tests/long.sh made it.
find "$traces" tests/data tests/out/openmm -name '*.pt.trace.json*' -print0 2>/dev/null |
    xargs -0 "$bench/bench_gzip"
echo
"$bench/bench_event_log" "$traces" .venv/bin/python
# Needs a HIP runtime and the simulated GPU.
if ninja -C build-bench tests/bench/bench_hip tools/simhsa/libhsa-runtime64.so.1 >/dev/null 2>&1; then
    export SIMHSA_LIBRARY_DIR=$PWD/build-bench/tools/simhsa
    echo
    tools/simhsa/run "$bench/bench_hip" bare
    tools/simhsa/run "$bench/bench_hip"
    HIPBOARD_HIP_BACKEND=interposition tools/simhsa/run "$bench/bench_hip"
    tools/simhsa/run "$bench/bench_hip" own
    for suite in trixie sid experimental; do # where fetch_runtimes.sh has unpacked them
        tools/simhsa/run --runtime $suite "$bench/bench_hip" bare || continue
        tools/simhsa/run --runtime $suite "$bench/bench_hip"
        tools/simhsa/run --runtime $suite "$bench/bench_hip" own
    done
    ninja -C build-bench tests/bench/bench_hook >/dev/null && "$bench/bench_hook"
fi
# Needs HIP's headers only.
if ninja -C build-bench tests/bench/bench_rocprofiler tests/hip/rocprofiler/librocprofiler-sdk.so.1 >/dev/null 2>&1; then
    for client in bare empty hipboard; do
        LD_LIBRARY_PATH=build-bench/tests/hip/rocprofiler "$bench/bench_rocprofiler" $client
    done
fi
echo
"$bench/bench_compare" "$traces/runs" 10 100
echo
# Reading: growth with the number of events, then beside others on torch's own trace of as many.
for n in 100000 1000000 $((3 * events)); do
    mkdir "$traces/$n"
    "$bench/bench_cycle" "$traces/$n" "$n" >/dev/null
done
"$bench/bench_read" "$traces"/*/*.pt.trace.json
rm -r "${traces:?}"/*
.venv/bin/python tests/bench/table_beside_torch.py build-bench "$events" "$traces/torch.pt.trace.json" \
    2>>"$out/torch.log"
echo
.venv/bin/python tests/bench/read_beside_others.py build-bench "$traces/torch.pt.trace.json"
