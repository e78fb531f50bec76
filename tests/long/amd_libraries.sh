#!/bin/bash
# SPDX-License-Identifier: MIT
# what: AMD's own rocBLAS, hipBLAS, hipBLASLt, rocFFT, hipFFT, rocRAND, rocSOLVER, rocSPARSE, MIOpen: operators
# time: 3 min
# disk: 13 GB
#
# Debian's packages, 480 MB, 110 MB, 1.4 GB and 450 MB, are downloaded once (tools/simhsa/fetch_runtimes.sh llama fft
# math miopen). MIOpen compiles its kernels when it is called: its suite has the compiler.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
[ -f build/build.ninja ] || meson setup build --werror >/dev/null
ninja -C build >/dev/null
sh tools/simhsa/fetch_runtimes.sh llama fft math miopen
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
build GRAPH llama librocblas.so.4
build FFT fft librocfft.so.0 libhipfft.so.0 librocrand.so.1
build MIOPEN miopen libMIOpen.so.1
build MATH math librocblas.so.4 librocsolver.so.0 librocsparse.so.1 libhipblaslt.so.1
status=0
python3 tests/long/amd_libraries.py "$out" llama "$PWD/$out/BLAS" || status=1
python3 tests/long/amd_libraries.py "$out" llama "$PWD/$out/GRAPH" graph || status=1
python3 tests/long/amd_libraries.py "$out" fft "$PWD/$out/FFT" || status=1
python3 tests/long/amd_libraries.py "$out" math "$PWD/$out/MATH" || status=1
python3 tests/long/amd_libraries.py "$out" miopen "$PWD/$out/MIOPEN" || status=1
exit $status
