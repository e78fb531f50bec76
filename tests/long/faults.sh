#!/bin/bash
# SPDX-License-Identifier: MIT
# what: each call for memory, mappings, threads and files fails, once and with all that follow
# time: 10 min
# disk: 100 MB
#
#   bash tests/long/faults.sh [EVERY]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
[ -f build/build.ninja ] || meson setup build --werror >/dev/null
ninja -C build >/dev/null
build/tests/fault/test_faults "${1:-1}"
build/tests/fault/test_faults "$((${1:-1} * 97))" 1 stacks
exec python3 tests/fault/failing.py --build build --every "${1:-7}"
