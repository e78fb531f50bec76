#!/bin/bash
# SPDX-License-Identifier: MIT
# what: one library on newer MPIs: Open MPI 5 and MPICH 4.2 of Debian's trixie, Open MPI 6 and MPICH 5 of sid, and MPI's own ABI on both of these
# time: 2 min
# disk: 2 GB
#
# Debian's packages are downloaded once (tools/simhsa/fetch_runtimes.sh mpi-trixie mpi-sid), and are the root of what
# runs here; needs root, or a kernel that lets users have one of their own.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
[ -f build/build.ninja ] || meson setup build --werror >/dev/null
ninja -C build >/dev/null
sh tools/simhsa/fetch_runtimes.sh mpi-trixie mpi-sid
out=$PWD/tests/out/mpi_suites
rm -rf "$out" && mkdir -p "$out"
runtimes=${SIMHSA_RUNTIMES:-${XDG_CACHE_HOME:-$HOME/.cache}/hipboard/runtimes}
sid=$runtimes/mpi-sid/usr/lib/x86_64-linux-gnu
for mpi in openmpi mpich; do
    mpicc.$mpi -w tests/e2e/programs/mpi_calls.c -o "$out/calls_$mpi"
    mkdir -p "$out/abi_$mpi"
    ln -s "/usr/lib/x86_64-linux-gnu/libmpi_abi_$mpi.so.1.0.0" "$out/abi_$mpi/libmpi_abi.so.1"
done
# One binary for both, by the standard's header.
cc -w "-I$sid/openmpi/include/standard_abi" tests/e2e/programs/mpi_calls.c -o "$out/calls_abi" \
    "$sid/libmpi_abi_openmpi.so.1.0.0" -Wl,--allow-shlib-undefined
python3 tests/long/mpi_suites.py "$runtimes" "$out"
