#!/bin/bash
# SPDX-License-Identifier: MIT
# what: kill -9 at random moments; every completed scope must be in a trace or be recovered
# time: 5 min
# disk: 200 MB
#
#   bash tests/long/kills.sh [KILLS] [SEED]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
[ -f build/build.ninja ] || meson setup build --werror >/dev/null
ninja -C build >/dev/null
exec python3 tests/fault/kills.py --build build --kills "${1:-300}" --seed "${2:-1}"
