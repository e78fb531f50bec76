#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Unpacks the HIP runtimes of other Debian suites into a cache directory, beside the installed one,
# so that the newer profiling hooks are tested too:
#
#     fetch_runtimes.sh [-o DIRECTORY] [SUITE...]      (suites: trixie sid experimental fft)
#     fetch_runtimes.sh llama                          sid with llama.cpp, 480 MB, unpacked 3 GB
#     fetch_runtimes.sh fft                            sid with rocFFT, hipFFT, rocRAND and Kokkos, and
#                                                      headers of AMD's libraries, 110 MB
#     fetch_runtimes.sh math                          sid with rocSOLVER, rocSPARSE and hipBLASLt, 1.4 GB
#     fetch_runtimes.sh miopen                         sid with MIOpen and the compiler that it calls, 450 MB
#     fetch_runtimes.sh rccl                           trixie with RCCL, 190 MB
#     fetch_runtimes.sh mpi-trixie mpi-sid             Open MPI and MPICH, and all that they need to be a root
#
# Nothing is installed and no root is needed: apt resolves and downloads, dpkg-deb unpacks. The
# closure includes libc, as a newer runtime does not run on an older one; `run --runtime SUITE`
# starts programs with it. Sid and experimental move on: each is pinned to the HIP release that the tests
# expect of it. Exits 0 when every suite is there, 77 (meson's "skipped") when one cannot be had, with
# the reason, which is kept in DIRECTORY/SUITE.missing. DIRECTORY: $SIMHSA_RUNTIMES, else
# ~/.cache/hipboard/runtimes.
set -u

out=${SIMHSA_RUNTIMES:-${XDG_CACHE_HOME:-$HOME/.cache}/hipboard/runtimes}
while getopts o: option; do
    case $option in
    o) out=$OPTARG ;;
    *) echo "usage: $0 [-o DIRECTORY] [SUITE...]" >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- trixie sid experimental fft

missing=
# skip SUITE REASON
skip() {
    echo "fetch_runtimes: $1: $2" >&2
    mkdir -p "$out" && echo "$2" >"$out/$1.missing"
    missing="$missing $1"
}

# runtime_of SUITE: the packages that carry that suite's HIP runtime, and what programs load beside it.
runtime_of() {
    case $1 in
    trixie) echo "libamdhip64-5=5.7.1* libamd-comgr2" ;;
    sid) echo "libamdhip64-6=6.4.3* libamd-comgr3" ;;
    experimental)
        echo "libamdhip64-7=7.2.4* libamd-comgr3=7.2.4* libhsa-runtime64-1=7.2.4*" \
            "libhiprtc7=7.2.4* librocprofiler-register-0=7.2.4*"
        ;;
    llama) echo "libamdhip64-6=6.4.3* libggml0-backend-hip llama.cpp-tools" ;;
    fft)
        echo "libamdhip64-6=6.4.3* librocfft0=6.4.3* libhipfft0=6.4.3* librocrand1=6.4.3*" \
            "libkokkos-dev=5.2*"
        ;;
    math)
        echo "libamdhip64-6=6.4.3* librocsolver0=6.4.3* librocsparse1=6.4.3* libhipblaslt1=7.1.1*"
        ;;
    miopen)
        echo "libamdhip64-6=6.4.3* libmiopen1=6.4.3* clang-21 clang-tools-21 lld-21 llvm-21" \
            "rocm-device-libs-21 libc6-dev libstdc++-16-dev"
        ;;
    rccl) echo "libamdhip64-5=5.7.1* libamd-comgr2 librccl1" ;;
    mpi-trixie | mpi-sid)
        echo "openmpi-bin libopenmpi-dev mpich libmpich-dev base-files dash coreutils libprotobuf-c1 libdw1 libsqlite3-0"
        ;;
    *) return 1 ;;
    esac
}

# headers_of SUITE: packages without what they depend on.
headers_of() {
    case $1 in
    fft)
        for name in amdhip64 rocblas hipblas hipblas-common rocsolver rocsparse hipblaslt miopen \
            rocfft hipfft rocrand hiprand; do
            echo "lib$name-dev"
        done
        ;;
    esac
}

# What experimental does not have is sid's.
sources_of() {
    case $1 in
    experimental) set -- sid experimental ;;
    llama | fft | math | miopen) set -- sid ;;
    rccl | mpi-trixie) set -- trixie ;;
    mpi-sid) set -- sid ;;
    esac
    for part in "$@"; do
        echo "deb [signed-by=$keyring] $mirror $part main"
    done
}

# apt with private lists, cache and an empty dpkg status: it sees only the suite, and all is missing.
# A mirror that stands still has expired lists, of packages that are as good as they were; they are
# signed all the same.
suite_apt() {
    state=$1
    shift
    apt-get -q -y -o Dir::Etc::SourceList="$state/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
        -o Dir::State="$state" -o Dir::State::Status="$state/status" -o Dir::Cache="$state" \
        -o Acquire::Check-Valid-Until=false -o APT::Install-Recommends=false \
        -o APT::Sandbox::User=root -o Debug::NoLocking=1 "$@"
}

# download SUITE STATE PACKAGE...: into STATE/archives.
download() {
    suite=$1 state=$2
    shift 2
    mkdir -p "$state/lists/partial" "$state/archives/partial"
    : >"$state/status"
    sources_of "$suite" >"$state/sources.list"
    echo "fetch_runtimes: $suite from $mirror"
    if ! suite_apt "$state" update >"$state/log" 2>&1 || grep -q '^Err:' "$state/log"; then
        cat "$state/log" >&2
        skip "$suite" "cannot reach Debian's suite $suite"
        return 1
    fi
    headers=$(headers_of "$suite")
    # shellcheck disable=SC2086  # a list of packages
    suite_apt "$state" install --download-only "$@" >"$state/log" 2>&1 &&
        { [ -z "$headers" ] || (cd "$state/archives" && suite_apt "$state" download $headers); } \
            >>"$state/log" 2>&1 && return
    cat "$state/log" >&2
    skip "$suite" "Debian's suite $suite does not have $* any more"
    return 1
}

# Kernels of rocBLAS and hipBLASLt that are left out, gigabytes: all but those for gfx1030, or gfx90a.
unwanted_of() {
    case $1 in
    math) echo 'gfx[89][^0]' 'gfx90[^a]' 'gfx1' ;;
    *) echo 'gfx[89]' 'gfx101' 'gfx11' ;;
    esac
}

# MIOpen calls its compiler by the path of Debian's builds, and hands it -isystem /usr/include, which hides these two
# headers from the C++ library's of the same name. `in_suite` puts a suite that has /build in the place of /usr.
link_compiler() {
    builds="$1/build/reproducible-path/miopen-6.4.3+dfsg/build"
    mkdir -p "$builds" "$1/usr/local/include" || exit 1
    ln -s /usr/bin/clang-21 "$builds/clang-21"
    for header in math.h stdlib.h; do
        ln -s "../../include/$header" "$1/usr/local/include/$header"
    done
}

# Beside the one that is there: a program may be running on it.
unpack() {
    archives=$1 root=$2 fresh=$2.new
    set -f
    excluded=
    for gpu in $(unwanted_of "$4"); do
        excluded="$excluded --exclude=*/library/*$gpu*"
    done
    set -- "$@" $excluded
    set +f
    rm -rf "$fresh" && mkdir -p "$fresh/compat" || exit 1
    for deb in "$archives"/*.deb; do
        (
            shift 4
            dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink "$@" -C "$fresh"
        ) || exit 1
    done
    # Programs linked to HIP 5 find newer ones here, and hipGetProcAddress() what it opens.
    for runtime in "$fresh"/usr/lib/x86_64-linux-gnu/libamdhip64.so.[0-9]; do
        [ -e "$runtime" ] || continue
        for name in libamdhip64.so.5 libamdhip64.so; do
            ln -s "../usr/lib/x86_64-linux-gnu/${runtime##*/}" "$fresh/compat/$name"
        done
    done
    [ "$4" != miopen ] || link_compiler "$fresh"
    echo "$3" >"$fresh/complete"
    rm -rf "$root.old"
    [ ! -e "$root" ] || mv "$root" "$root.old" || exit 1
    mv "$fresh" "$root" && rm -rf "$root.old" || exit 1
}

fetch() {
    suite=$1
    packages=$(runtime_of "$suite") || { echo "fetch_runtimes: unknown suite $suite" >&2; exit 2; }
    [ "$(cat "$out/$suite/complete" 2>/dev/null)" = "$packages" ] && return
    for tool in apt-get dpkg-deb; do
        command -v "$tool" >/dev/null || { skip "$suite" "no $tool on this machine"; return; }
    done
    [ -r "$keyring" ] || { skip "$suite" "no Debian archive keyring ($keyring)"; return; }
    # The mirror that this machine already uses; a proxy in apt's own configuration applies as well.
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        grep '/debian/*$' | head -n 1)
    mirror=${mirror:-http://deb.debian.org/debian}
    state=$(mktemp -d) || exit 1
    trap 'rm -rf "$state"' EXIT
    set -f # the pins have stars
    # shellcheck disable=SC2086  # a list of packages
    download "$suite" "$state" $packages && found=1 || found=
    set +f
    if [ "$found" ]; then
        unpack "$state/archives" "$out/$suite" "$packages" "$suite"
        rm -f "$out/$suite.missing"
    fi
    rm -rf "$state"
    trap - EXIT
}

keyring=/usr/share/keyrings/debian-archive-keyring.gpg
for suite in "$@"; do
    fetch "$suite"
done
[ -z "$missing" ] || exit 77
echo "fetch_runtimes: $* in $out"
