#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Makes Debian packages of this checkout, for the machine that it runs on.
#
#   bash tools/deb.sh [DIRECTORY]        into DIRECTORY (packages)
#
#   libhipboard0            what a recorded program loads, and what names its call stacks
#   libhipboard-analysis0   what reads traces
#   libhipboard-dev         headers, static libraries, pkg-config, CMake
#   hipboard                the command, and what `hipboard record` loads into programs
#
# Needs what building needs (tools/setup.sh build). To install: apt install DIRECTORY/*.deb
set -euo pipefail
case ${1:-} in
-*) sed -n '5,13s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
mkdir -p "${1:-packages}"
out=$(readlink -f "${1:-packages}")
cd "$(dirname "$(readlink -f "$0")")/.."

say() { echo "hipboard: $*"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
architecture=$(dpkg --print-architecture)
libdir=lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)

say "building"
version=$(bash tools/release.sh "$libdir" "$work/all")

# take PACKAGE PATH...: moves what was installed into a package.
take() {
    local package=$1 path
    shift
    for path in "$@"; do
        mkdir -p "$work/$package/usr/$(dirname "$path")"
        mv "$work"/all/usr/$path "$work/$package/usr/$(dirname "$path")/"
    done
}

# needs PACKAGE FILE...: the packages whose libraries the files need.
needs() {
    local package=$1
    shift
    mkdir -p "$work/debian"
    echo "Source: hipboard" >"$work/debian/control"
    (cd "$work" && dpkg-shlibdeps -O --ignore-missing-info -l"$work/libs" "${@/#/$package/usr/}" 2>/dev/null) |
        sed 's/^shlibs:Depends=//' | tr -d '\n'
}

# pack PACKAGE SECTION DEPENDS RECOMMENDS TITLE TEXT
pack() {
    local package=$1 doc=$work/$1/usr/share/doc/$1
    mkdir -p "$doc" "$work/$package/DEBIAN"
    cp LICENSE "$doc/copyright"
    {
        echo "Package: $package"
        echo "Source: hipboard"
        echo "Version: $version"
        echo "Architecture: $architecture"
        echo "Maintainer: The hipboard authors <hipboard@localhost>"
        echo "Section: $2"
        echo "Priority: optional"
        echo "Installed-Size: $(du -k -s --apparent-size "$work/$package/usr" | cut -f1)"
        [ -z "$3" ] || echo "Depends: $3"
        [ -z "$4" ] || echo "Recommends: $4"
        echo "Description: $5"
        echo " $6"
    } >"$work/$package/DEBIAN/control"
    case $package in lib*0) echo "activate-noawait ldconfig" >"$work/$package/DEBIAN/triggers" ;; esac
    find "$work/$package" -type d -exec chmod 755 {} +
    dpkg-deb --root-owner-group --build "$work/$package" "$out" >/dev/null
    say "$out/${package}_${version}_$architecture.deb"
}

take libhipboard-dev include "$libdir/lib*.a" "$libdir/libhipboard.so" \
    "$libdir/libhipboard-analysis.so" "$libdir/libhipboard-mpi.so" "$libdir/libhipboard-openmp.so" "$libdir/libhipboard-rccl.so" "$libdir/pkgconfig" "$libdir/cmake"
take libhipboard0 "$libdir/libhipboard.so.*" "$libdir/libhipboard-mpi.so.*" "$libdir/libhipboard-openmp.so.*" "$libdir/libhipboard-rccl.so.*" \
    share/hipboard # its tables of operators
[ ! -e "$work/all/usr/$libdir/hipboard/hipboard-symbolizer" ] ||
    take libhipboard0 "$libdir/hipboard/hipboard-symbolizer"
take libhipboard-analysis0 "$libdir/libhipboard-analysis.so.*"
take hipboard bin "$libdir/hipboard/lib*.so" "$libdir/hipboard/hipboard-digest" share
left=$(find "$work/all" ! -type d)
[ -z "$left" ] || { say "in no package: $left" >&2; exit 1; }

mkdir -p "$work/libs"
ln -s "$work"/lib*0/usr/"$libdir"/lib*.so.0 "$work/libs/"
system() { needs "$@" | sed 's/libhipboard[a-z0-9-]* *[^,]*\(, \)\?//g; s/, $//'; }
stacks=libunwind8
helper=$libdir/hipboard/hipboard-symbolizer
[ ! -e "$work/libhipboard0/usr/$helper" ] || stacks+=", $(system libhipboard0 "$helper" | tr ',' '\n' |
    grep -v libc6 | sed 's/^ *//' | paste -sd, | sed 's/,/, /g')"
gzip -9n "$work/hipboard/usr/share/man/man1/hipboard.1"

pack libhipboard0 libs "$(system libhipboard0 "$libdir/libhipboard.so.0")" "$stacks" \
    "torch.profiler for native programs: recording" \
    "The library of programs that record themselves for TensorBoard's PyTorch profiler plugin."
pack libhipboard-analysis0 libs \
    "libhipboard0 (= $version), $(system libhipboard-analysis0 "$libdir/libhipboard-analysis.so.0")" "" \
    "torch.profiler for native programs: analysis" \
    "The library that reads traces of hipboard and PyTorch, and answers as the plugin does."
pack libhipboard-dev libdevel \
    "libhipboard0 (= $version), libhipboard-analysis0 (= $version), libc6-dev, zlib1g-dev, libprotobuf-c-dev" "" \
    "torch.profiler for native programs: development files" \
    "Headers, static libraries, and what pkg-config and CMake read."
server=$libdir/hipboard/libhipboard-serve.so # loaded by one command
[ ! -e "$work/hipboard/usr/$server" ] || served=$(system hipboard "$server" | tr ',' '\n' | grep -o 'libmicrohttpd.*')
pack hipboard devel "libhipboard0 (= $version), libhipboard-analysis0 (= $version), $(system hipboard bin/hipboard)" "${served:-}" \
    "torch.profiler for native programs: the command" \
    "Records unchanged HIP programs, and shows, checks, converts and compares traces."
