#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Builds this checkout as packages carry it, and installs that below a directory.
#
#   bash tools/release.sh LIBDIR DIRECTORY     prints the version; files are in DIRECTORY/usr
#
# The build stays in build-release, where the next package of the same sources finds it made.
set -euo pipefail
[ $# = 2 ] || { sed -n '4,8s/^# \{0,1\}//p' "$0" && exit 2; }
libdir=$1
to=$(readlink -m "$2")
cd "$(dirname "$(readlink -f "$0")")/.."
build=build-release
mkdir -p "$build"
exec 9<"$build"
flock 9 # of two packages that are made at once the second waits

log=$(mktemp)
trap 'rm -f "$log"' EXIT
again=
[ ! -f "$build/build.ninja" ] || again=--reconfigure
if ! { meson setup $again "$build" --prefix /usr --libdir "$libdir" --buildtype release \
           -Dtests=false -Dsamples=false -Dsimhsa=disabled && ninja -C "$build" &&
       DESTDIR=$to meson install -C "$build" --no-rebuild --strip; } >"$log" 2>&1 </dev/null; then
    tail -n 30 "$log" >&2
    echo "hipboard: building in $build failed" >&2
    exit 1
fi
meson introspect --projectinfo "$build" | python3 -c 'import json, sys; print(json.load(sys.stdin)["version"])'
