#!/bin/sh
# SPDX-License-Identifier: MIT
#
# on_runtime.sh SIMHSA_DIR SUITE PROGRAM...: runs tests, built against the installed HIP runtime, on the
# one of another Debian suite that tools/simhsa/fetch_runtimes.sh has unpacked; symbols keep their versions
# over the sonames. Exits 77, "skipped", when it is not there.
set -eu
simhsa=$1 suite=$2
shift 2
runtimes=${SIMHSA_RUNTIMES:-${XDG_CACHE_HOME:-$HOME/.cache}/hipboard/runtimes}
root=$runtimes/$suite
libraries=$root/usr/lib/x86_64-linux-gnu
if [ ! -e "$root/complete" ]; then
    reason=$(cat "$runtimes/$suite.missing" 2>/dev/null || echo "tools/simhsa/fetch_runtimes.sh $suite has not run")
    echo "skipped: no HIP runtime of Debian's $suite here: $reason" >&2
    exit 77
fi
for program in "$@"; do
    LD_LIBRARY_PATH= "$libraries/ld-linux-x86-64.so.2" \
        --library-path "$simhsa:$root/compat:$libraries" "$program"
done
