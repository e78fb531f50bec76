#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs a test on the stand-in for rocprofiler-sdk with AMD's own librocprofiler-register, of Debian's
# experimental suite, between it and HIP: real_register.sh STAND_INS IN_SUITE PROGRAM. Exits 77 with the
# reason where that is not to be had.
set -eu
stand_ins=$1 in_suite=$2 program=$3
runtimes=${SIMHSA_RUNTIMES:-${XDG_CACHE_HOME:-$HOME/.cache}/hipboard/runtimes}
real=$runtimes/experimental/usr/lib/x86_64-linux-gnu/librocprofiler-register.so.0
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
ln -s "$real" "$here/librocprofiler-register.so.0"
# Which one serves is asked of the program's own log: the real one tells, the stand-in does not.
status=0
ROCPROFILER_REGISTER_LOG_LEVEL=info "$in_suite" experimental \
    env "LD_LIBRARY_PATH=$here:$stand_ins" "$program" 2>"$here/said" || status=$?
cat "$here/said" >&2
[ "$status" = 77 ] && exit 77
grep -q 'rocprofiler.register' "$here/said" || { echo "the real librocprofiler-register was not used" >&2; exit 1; }
exit "$status"
