#!/bin/sh
# SPDX-License-Identifier: MIT
#
# build_kernels.sh OUTPUT [HIPCC]: compiles kernels.hip for all AMD GPUs of the list below that this
# hipcc knows, into one file for hipModuleLoadData().
#
# The file in the tree, for machines without hipcc, is made so, with Debian 12's:
#
#     sh build_kernels.sh kernels.hipfb && gzip -9n kernels.hipfb && sha256sum kernels.h kernels.hip > kernels.sha256
set -eu
output=$1 hipcc=${2:-hipcc}
here=$(cd "$(dirname "$0")" && pwd)
probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
export HIP_PLATFORM=amd # else hipcc takes nvcc when it finds one

echo '__attribute__((global)) void probe() {}' >"$probe/probe.hip"
targets=
for arch in gfx900 gfx906 gfx908 gfx90a gfx942 gfx950 gfx1010 gfx1030 gfx1100 gfx1101 gfx1102 gfx1200 gfx1201; do
    if "$hipcc" --genco --offload-arch=$arch "$probe/probe.hip" -o "$probe/out" 2>/dev/null; then
        targets="$targets --offload-arch=$arch"
    fi
done
[ -n "$targets" ] || { echo "build_kernels.sh: $hipcc compiles for none of the known GPUs" >&2; exit 1; }
"$hipcc" --genco $targets -O3 "$here/kernels.hip" -o "$output"
