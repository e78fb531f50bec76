#!/bin/bash
# SPDX-License-Identifier: MIT
# what: tests again and again while processors are busy and their processes freeze for up to 2 s; says which depend on a moment
# time: 60 min
# disk: 1 GB
#
#   bash tests/long/unsteady.sh [TIMES] [TEST...]   files of pytest and programs of `meson test`
#
# Without tests, those that wait for other processes, threads and browsers.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
[ -f build/build.ninja ] || meson setup build --werror >/dev/null
ninja -C build >/dev/null
times=${1:-2}
shift $(($# < 1 ? $# : 1))
if [ $# -eq 0 ]; then
    set -- control disks event_log exit fork forks frozen late_reports life live_memory missing odd_programs \
        page process recording ring spool symbolizer telemetry turns
    for name in trigger record surroundings serve tensorboard_tab mpi rccl rank_study ranks telemetry digits \
        event_log cycle_log samples install convert; do
        set -- "$@" "tests/e2e/test_$name.py"
    done
fi
exec .venv/bin/python tests/fault/unsteady.py --times "$times" "$@"
