#!/bin/sh
# SPDX-License-Identifier: MIT
#
# on_runtime.sh SIMHSA_DIR SUITE SONAME PROGRAM: runs a test, built against the installed HIP runtime,
# on the one of another Debian suite that tools/simhsa/fetch_runtimes.sh has unpacked. Exits 77,
# "skipped", when it is not there.
set -eu
simhsa=$1 suite=$2 soname=$3 program=$4
root=${SIMHSA_RUNTIMES:-${XDG_CACHE_HOME:-$HOME/.cache}/hipboard/runtimes}/$suite
libraries=$root/usr/lib/x86_64-linux-gnu
if [ ! -e "$root/complete" ]; then
    echo "skipped: no runtime of $suite in $root; tools/simhsa/fetch_runtimes.sh $suite" >&2
    exit 77
fi
# Symbols keep their versions over the sonames, so a test that was linked to one runs on another.
alias=$(mktemp -d)
trap 'rm -rf "$alias"' EXIT
ln -s "$libraries/$soname" "$alias/libamdhip64.so.5"
ln -s "$libraries/$soname" "$alias/libamdhip64.so" # where hipGetProcAddress() looks for functions
status=0
LD_LIBRARY_PATH= "$libraries/ld-linux-x86-64.so.2" \
    --library-path "$simhsa:$alias:$libraries" "$program" || status=$?
exit $status
