#!/bin/bash
# SPDX-License-Identifier: MIT
# what: every file call takes 700 ms: nobody who records makes one, nothing is lost; times beside a twin's
# time: 30 min
# disk: 50 MB
#
#   bash tests/long/slow_files.sh [MILLISECONDS]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
[ -f build/build.ninja ] || meson setup build --werror >/dev/null
ninja -C build >/dev/null
exec build/tests/fault/slow_files "$@"
