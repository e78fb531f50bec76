#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs a test; one that hangs shows where before it is ended.
#
#   tests/stacks.sh PROGRAM [ARGUMENT...]
#
# Its exit status is the program's; 124 after HIPBOARD_TEST_LIMIT seconds (300).
limit=${HIPBOARD_TEST_LIMIT:-300}

# All that run in the test's process group, which is this script's, too.
show_stacks() {
    local pid group mine
    mine=$(sed 's/.*) //' "/proc/$$/stat" | cut -d' ' -f3)
    for pid in $(cd /proc && echo [0-9]*); do
        group=$(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null | cut -d' ' -f3)
        [ "$group" = "$mine" ] && ! [ "/proc/$pid/exe" -ef /proc/$$/exe ] || continue
        echo "== process $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
        timeout 60 eu-stack -p "$pid" 2>&1
    done
}

"$@" <&0 &
program=$!
(
    sleep "$limit" </dev/null >/dev/null 2>&1 &
    trap 'kill $!' TERM
    wait $! || exit
    echo "== no end after $limit s" >&2
    show_stacks >&2
    kill -KILL "$program"
) &
guard=$!
wait "$program"
status=$?
kill "$guard" 2>/dev/null
wait "$guard" && status=124
exit "$status"
