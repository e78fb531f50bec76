#!/bin/bash
# SPDX-License-Identifier: MIT
# what: AMD's own RCCL of Debian's trixie, 2 ranks in two processes, 2 and 8 in one: calls, groups, kernels
# time: 1 min
# disk: 1.2 GB
#
# Debian's packages, 190 MB, are downloaded once (tools/simhsa/fetch_runtimes.sh rccl). Between processes RCCL
# goes through shared memory (NCCL_P2P_DISABLE), as the simulated GPU lends no memory to other processes.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
[ -f build/build.ninja ] || meson setup build --werror >/dev/null
ninja -C build >/dev/null
sh tools/simhsa/fetch_runtimes.sh rccl
libraries=${SIMHSA_RUNTIMES:-${XDG_CACHE_HOME:-$HOME/.cache}/hipboard/runtimes}/rccl/usr/lib/x86_64-linux-gnu
out=$PWD/tests/out/rccl
rm -rf "$out" && mkdir -p "$out"
exports=$(nm -D --defined-only "$libraries/librccl.so.1" | awk '$3 ~ /^(nccl|msccl)/ { print $3 }' | sort)
listed=$(awk '/^# of later/ { exit } !/^#/ { print $1 }' tests/data/rccl_exports.txt | sort)
diff <(echo "$listed") <(echo "$exports") || { echo "tests/data/rccl_exports.txt is not what librccl exports"; exit 1; }
cc -D__HIP_PLATFORM_AMD__ tests/hip/rccl/calls.c -o "$out/calls" "$libraries/librccl.so.1" \
    "$libraries/libamdhip64.so.5" -Wl,--allow-shlib-undefined
python3 tests/long/rccl.py "$out"
