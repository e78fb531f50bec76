#!/bin/bash
# SPDX-License-Identifier: MIT
# what: OpenMM from PyPI, on HIP 7.2: all its GPU did is in the trace, and what recording costs a step
# time: 1 min
# disk: 100 MB
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
[ -f build/build.ninja ] || meson setup build --werror >/dev/null
ninja -C build >/dev/null
bash tools/setup.sh view openmm >/dev/null
sh tools/simhsa/fetch_runtimes.sh experimental
.venv/bin/python tests/long/clients.py tests/out/openmm experimental -- \
    .venv/bin/python tests/e2e/programs/openmm_steps.py 100 50
