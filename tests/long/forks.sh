#!/bin/bash
# SPDX-License-Identifier: MIT
# what: forks at random moments while 8 threads record, log and take cycles; children record on
# time: 15 min
# disk: 200 MB
#
#   bash tests/long/forks.sh [TIMES]   100 times as many as in tests/run.sh: 10,000
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
[ -f build/build.ninja ] || meson setup build --werror >/dev/null
ninja -C build >/dev/null
TEST_ROUNDS=${1:-100} exec build/tests/unit/test_forks
