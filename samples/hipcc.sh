#!/bin/sh
# SPDX-License-Identifier: MIT
#
# hipcc.sh ARGS...: hipcc (or what HIPCC names), for all AMD GPUs of the list below that it knows.
set -eu
known='gfx900 gfx906 gfx908 gfx90a gfx942 gfx950
    gfx1010 gfx1030 gfx1100 gfx1101 gfx1102 gfx1200 gfx1201'
hipcc=${HIPCC:-hipcc}
export HIP_PLATFORM=amd # else hipcc takes nvcc when it finds one

probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
export TMPDIR="$probe" # where clang leaves empty folders, one each time
echo '__attribute__((global)) void probe() {}' >"$probe/probe.hip"
targets=
for arch in $known; do
    if "$hipcc" --genco --offload-arch="$arch" "$probe/probe.hip" -o "$probe/out" 2>/dev/null; then
        targets="$targets --offload-arch=$arch"
    fi
done
[ -n "$targets" ] || { echo "hipcc.sh: $hipcc compiles for none of: $known" >&2; exit 1; }
# shellcheck disable=SC2086 # words of a list
"$hipcc" $targets "$@"
