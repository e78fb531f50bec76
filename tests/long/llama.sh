#!/bin/bash
# SPDX-License-Identifier: MIT
# what: llama.cpp of Debian's sid, on HIP 6.4, with a model of random weights: all its GPU did is in the trace, its steps and shapes in the plugin
# time: 4 min
# disk: 3 GB
#
# Debian's packages, 480 MB, are downloaded once (tools/simhsa/fetch_runtimes.sh llama).
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
[ -f build/build.ninja ] || meson setup build --werror >/dev/null
ninja -C build >/dev/null
sh tools/simhsa/fetch_runtimes.sh llama
root=${SIMHSA_RUNTIMES:-${XDG_CACHE_HOME:-$HOME/.cache}/hipboard/runtimes}/llama
out=tests/out/llama
mkdir -p "$out"
python3 tests/long/tiny_gguf.py "$out/tiny.gguf"
# Its own figure: the time of a token, of its quickest sample.
cat >"$out/bench.sh" <<EOF
"$root/usr/bin/llama-bench" -m "$PWD/$out/tiny.gguf" -t 1 -ngl 99 -p 64 -n 32 -r 10 -o jsonl |
    sed -n 's/.*"n_gen": 32,.*"samples_ns": \[\([^]]*\)\].*/\1/p' | tr -d ' ' | tr ',' '\n' | sort -n |
    awk 'NR == 1 { printf "ns: %d\n", \$1 / 32 }'
EOF
status=0
.venv/bin/python tests/long/llama_views.py "$out" "$root/usr/bin/llama-bench" -m "$PWD/$out/tiny.gguf" -t 1 -ngl 99 ||
    status=1
python3 tests/long/clients.py "$out" llama SIMHSA_ARCH=gfx1030 -- bash "$out/bench.sh" || status=1
exit $status
