#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The proofs that take longer than tests/run.sh may: minutes to hours.
#
#   bash tests/long.sh --list        what there is, with its time and disk
#   bash tests/long.sh               all of it
#   bash tests/long.sh PART...       some of it
#
# A part is a script tests/long/PART.sh whose head has lines "# what:", "# time:" and "# disk:". It
# builds what it needs, prints what it tried and found, and its status is 0 when nothing was wrong.
# The last line is "N passed, N failed"; the exit status is 1 if any failed.
set -uo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

field() { sed -n "s/^# $1: *//p" "tests/long/$2.sh" | head -n 1; }

parts=()
while [ $# -gt 0 ]; do
    case $1 in
    --list)
        for script in tests/long/*.sh; do
            name=$(basename "$script" .sh)
            printf '%-12s %-10s %-8s %s\n' "$name" "$(field time "$name")" "$(field disk "$name")" \
                "$(field what "$name")"
        done
        exit
        ;;
    -*) sed -n '4,12s/^# \{0,1\}//p' "$0" && exit 2 ;;
    *)
        [ -f "tests/long/$1.sh" ] || { echo "no part '$1'; there are:" >&2; exec bash "$0" --list; }
        parts+=("$1")
        ;;
    esac
    shift
done
[ ${#parts[@]} -gt 0 ] || for script in tests/long/*.sh; do parts+=("$(basename "$script" .sh)"); done

passed=0 failed=0 started=$SECONDS
for name in "${parts[@]}"; do
    echo "== $name: $(field what "$name") (expect $(field time "$name"), $(field disk "$name"))"
    if bash "tests/long/$name.sh" </dev/null; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "== $name FAILED"
    fi
done
echo "== done ($((SECONDS - started)) s)"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
