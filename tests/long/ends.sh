#!/bin/bash
# SPDX-License-Identifier: MIT
# what: exit() at random moments, in signal handlers too, while other threads record, step and stop
# time: 10 min
# disk: 100 MB
#
#   bash tests/long/ends.sh [TIMES]   85 times as many rounds as in tests/run.sh: 500 of each kind
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
[ -f build/build.ninja ] || meson setup build --werror >/dev/null
ninja -C build >/dev/null
TEST_ROUNDS=${1:-85} exec build/tests/unit/test_exit
