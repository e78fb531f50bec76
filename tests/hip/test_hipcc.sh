#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Builds vadd.hip with hipcc for several architectures and runs it on each, simulated:
# test_hipcc.sh KERNEL_LIBRARY RUN..., which runs a program. Exits 77 (skipped) where there is no hipcc, or
# RUN says so.
set -eu
kernels=$1
shift
cd "$(dirname "$0")"
command -v hipcc >/dev/null || { echo "skipped: no hipcc on this machine"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
program=$scratch/vadd
"$@" true || exit
TMPDIR=$scratch HIP_PLATFORM=amd hipcc --offload-arch=gfx90a --offload-arch=gfx906 --offload-arch=gfx1030 -O2 vadd.hip -o "$program"

failed=0
for arch in gfx90a gfx906 gfx1030; do
    said=$(SIMHSA_ARCH=$arch SIMHSA_KERNELS=$kernels "$@" "$program" 2>&1) || failed=1
    echo "$arch: $said"
    # vadd takes 50 us and scale 30, says the kernel library; the rest is this machine's load.
    echo "$said" | grep -Eq '^c\[0\]=4 c\[n-1\]=4 counter=42 ms=(0\.0[89]|0\.[1-9]|[1-9])' || failed=1
done

# A program without code for the device must learn it as on a real one. Not gfx1031: Debian's HIP 5.7 takes
# gfx1030's code for it.
said=$(SIMHSA_ARCH=gfx908 "$@" "$program" 2>&1) && failed=1
echo "gfx908: $said"
exit $failed
