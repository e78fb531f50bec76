#!/bin/bash
# SPDX-License-Identifier: MIT
# what: 10 GB of torch's text and 10^8 events: each command's peak memory, the same answers with more of it
# time: 40 min
# disk: 35 GB
#
#   bash tests/long/large.sh [COPIES [EVENTS]]        12 copies of 871 MB, and 1e8 events
#
# Wants Python with torch in .venv, as tests/run.sh makes it.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
copies=${1:-12} events=${2:-1e8}
[ -f build/build.ninja ] || meson setup build --werror >/dev/null
ninja -C build >/dev/null
folder=$(mktemp -d "${TMPDIR:-/var/tmp}/hipboard-large-XXXXXX")
trap 'rm -rf "$folder"' EXIT
failed=0

# run NAME MEMORY MOST COMMAND...: standard output into NAME.out; its peak is to be below MOST MB
run() {
    local name=$1 memory=$2 most=$3
    shift 3
    if ! env ${memory:+HIPBOARD_MEMORY=$memory} /usr/bin/time -o "$folder/time" -f "%M %U %S %e" \
        build/tools/hipboard/hipboard "$@" >"$folder/$name.out"; then
        echo "$name: FAILED"
        failed=1
        return
    fi
    read -r kb user sys wall <"$folder/time"
    echo "$name: $((kb / 1000)) MB at its peak, $user + $sys s of CPU, $wall s"
    [ "$kb" -le $((most * 1000)) ] || { echo "$name: over $most MB" && failed=1; }
}

same() {
    cmp "$@" || { echo "$*: differ" && failed=1; }
}

trace=$folder/host_1.1.pt.trace.json
.venv/bin/python - "$folder/once.json" <<'PY'
import sys
sys.path.insert(0, "tests/bench")
from table_beside_torch import record
record(1050000).export_chrome_trace(sys.argv[1])
PY
.venv/bin/python tests/bench/longer_trace.py "$folder/once.json" "$copies" "$trace"
rm "$folder/once.json"
echo "$(($(stat -c %s "$trace") / 1000000)) MB of torch's text"
run overview "" 1000 view --view overview "$trace"
run steps "" 1000 steps "$trace"
run check "" 1000 check "$trace"
run convert "" 1000 convert "$trace" -o "$folder/converted"
sum=$(cat "$folder"/converted/* | sha256sum)
rm -r "$folder/converted"
run overview-in-memory 100G 100000 view --view overview "$trace"
run check-in-memory 100G 100000 check "$trace"
run convert-in-memory 100G 100000 convert "$trace" -o "$folder/converted"
same "$folder/overview.out" "$folder/overview-in-memory.out"
same "$folder/check.out" "$folder/check-in-memory.out"
[ "$sum" = "$(cat "$folder"/converted/* | sha256sum)" ] || { echo "conversions differ" && failed=1; }
rm -r "$folder/converted" "$trace"

.venv/bin/python tests/bench/many_events.py "$events" "$folder/many.json"
echo "$events events, $(($(stat -c %s "$folder/many.json") / 1000000)) MB"
run all-views "" 10000 view "$folder/many.json"
exit $failed
