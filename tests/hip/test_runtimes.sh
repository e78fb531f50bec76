#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs test programs with the HIP runtime of another Debian suite, unpacked by fetch_runtimes.sh:
# test_runtimes.sh SIMHSA_SOURCE SUITE TEST...
#
# Exits 77 (skipped) where the runtime is not there; a test run downloads nothing by itself.
set -eu
simhsa=$1 suite=$2
shift 2
root=${SIMHSA_RUNTIMES:-${XDG_CACHE_HOME:-$HOME/.cache}/hipboard/runtimes}/$suite
if [ ! -e "$root/complete" ]; then
    echo "skipped: no HIP runtime of $suite here; $simhsa/fetch_runtimes.sh $suite unpacks it"
    exit 77
fi
for test in "$@"; do
    "$simhsa/run" --runtime "$suite" "$test"
done
