#!/bin/bash
# SPDX-License-Identifier: MIT
# what: AMD's own rocBLAS, hipBLAS, rocFFT, hipFFT and rocRAND of Debian's sid: their calls are operators
# time: 1 min
# disk: 3.2 GB
#
# Debian's packages, 480 MB and 60 MB, are downloaded once (tools/simhsa/fetch_runtimes.sh llama fft).
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
[ -f build/build.ninja ] || meson setup build --werror >/dev/null
ninja -C build >/dev/null
sh tools/simhsa/fetch_runtimes.sh llama fft
roots=${SIMHSA_RUNTIMES:-${XDG_CACHE_HOME:-$HOME/.cache}/hipboard/runtimes}
out=tests/out/amd
mkdir -p "$out"
# build NAME SUITE LIBRARY...: linked to that suite's libraries, which are found when it runs there
build() {
    name=$1 lib=$roots/$2/usr/lib/x86_64-linux-gnu
    shift 2
    cc "-D$name" tests/long/amd_calls.c -o "$out/$name" "${@/#/$lib/}" "$lib/libamdhip64.so.6" \
        -Wl,--allow-shlib-undefined
}
build BLAS llama librocblas.so.4 libhipblas.so.2
build FFT fft librocfft.so.0 libhipfft.so.0 librocrand.so.1
status=0
python3 tests/long/amd_libraries.py "$out" llama "$PWD/$out/BLAS" || status=1
python3 tests/long/amd_libraries.py "$out" fft "$PWD/$out/FFT" || status=1
exit $status
