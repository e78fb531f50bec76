#!/bin/sh
# SPDX-License-Identifier: MIT
#
# launch_instructions.sh BUILD [SUITE...]: how many of hipboard's own instructions a recorded launch of a
# null kernel takes on its thread, on the installed HIP runtime and on those of other Debian suites that
# tools/simhsa/fetch_runtimes.sh has unpacked (trixie, sid, ...). Needs valgrind. Counted, so that a busy
# machine makes no difference. Fails where it is 5 % more than launch_instructions.txt says, which was
# counted with gcc 12, --buildtype=release.
set -eu
build=$(cd "$1" && pwd)
shift
simhsa=$build/tools/simhsa bench=$build/tests/bench/bench_hip
runtimes=${SIMHSA_RUNTIMES:-${XDG_CACHE_HOME:-$HOME/.cache}/hipboard/runtimes}
known=$(dirname "$0")/launch_instructions.txt
out=$(mktemp)
worse=0
trap 'rm -f "$out"' EXIT

count() {
    name=$1
    shift
    valgrind --tool=callgrind --callgrind-out-file="$out" --toggle-collect=launch "$@" count >/dev/null 2>&1
    own=$(callgrind_annotate --threshold=100 "$out" |
        awk '/\[.*libhipboard/ { gsub(",", "", $1); own += $1 } END { printf "%.0f", own / 1000 }')
    printf '%-12s %s instructions a launch\n' "$name" "$own"
    limit=$(awk -v name="$name" '$1 == name { print int($2 * 1.05) }' "$known")
    [ "$own" -gt 0 ] && [ "$own" -le "${limit:-$own}" ] || worse=1
}

LD_LIBRARY_PATH=$simhsa count installed "$bench"
for suite in "$@"; do
    root=$runtimes/$suite
    lib=$root/usr/lib/x86_64-linux-gnu
    count "$suite" "$lib/ld-linux-x86-64.so.2" --library-path "$simhsa:$root/compat:$lib" "$bench"
done
[ "$worse" = 0 ] || echo "more than 5 % above $known, or not counted" >&2
exit "$worse"
