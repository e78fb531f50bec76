#!/bin/bash
# SPDX-License-Identifier: MIT
# what: hipboard ranks on traces that PyTorch's profiler wrote: eight ranks over gloo, thirty jobs with a rank that is late by 1 to 20 ms a step, ten without; how many are named rightly
# time: 2 min
# disk: 0.1 GB
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
[ -f build/build.ninja ] || meson setup build --werror >/dev/null
ninja -C build >/dev/null
.venv/bin/python tests/long/rank_torch.py
