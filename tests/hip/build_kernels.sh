#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes kernels_ARCH.co from kernels.hip: build_kernels.sh [ARCH [DIRECTORY]], of this directory or another
# in it. Needs Debian's hipcc.
set -eu
cd "$(dirname "$0")/${2:-.}"
arch=${1:-gfx90a}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bundle=$scratch/bundle
# Without HIP_PLATFORM hipcc takes nvcc when it finds one.
TMPDIR=$scratch HIP_PLATFORM=amd hipcc --genco --offload-arch="$arch" -O2 kernels.hip -o "$bundle"
clang-offload-bundler-15 --unbundle --type=o --input="$bundle" --output="kernels_$arch.co" \
    --targets="hipv4-amdgcn-amd-amdhsa--$arch"
