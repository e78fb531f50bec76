#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Unpacks the HIP runtimes of other Debian suites into a cache directory, beside the installed one,
# so that the newer profiling hooks are tested too:
#
#     fetch_runtimes.sh [-o DIRECTORY] [SUITE...]      (suites: trixie sid)
#
# Nothing is installed and no root is needed: apt resolves and downloads, dpkg-deb unpacks. The
# closure includes libc, as a newer runtime does not run on an older one; `run --runtime SUITE`
# starts programs with it. Exits 0 when every suite is there, 77 (meson's "skipped") with the reason
# when one cannot be had. DIRECTORY: $SIMHSA_RUNTIMES, else ~/.cache/hipboard/runtimes.
set -u

out=${SIMHSA_RUNTIMES:-${XDG_CACHE_HOME:-$HOME/.cache}/hipboard/runtimes}
while getopts o: option; do
    case $option in
    o) out=$OPTARG ;;
    *) echo "usage: $0 [-o DIRECTORY] [SUITE...]" >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- trixie sid

skip() {
    echo "fetch_runtimes: $1" >&2
    exit 77
}

for tool in apt-get dpkg-deb; do
    command -v "$tool" >/dev/null || skip "cannot fetch: no $tool on this machine"
done
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -r "$keyring" ] || skip "cannot fetch: no Debian archive keyring ($keyring)"

# The mirror that this machine already uses; a proxy in apt's own configuration applies as well.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    grep '/debian/*$' | head -n 1)
mirror=${mirror:-http://deb.debian.org/debian}

# runtime_of SUITE: the packages that carry that suite's HIP runtime.
runtime_of() {
    case $1 in
    trixie) echo "libamdhip64-5 libamd-comgr2" ;;
    sid) echo "libamdhip64-6 libamd-comgr3" ;;
    *) return 1 ;;
    esac
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

fetch() {
    suite=$1
    packages=$(runtime_of "$suite") || { echo "fetch_runtimes: unknown suite $suite" >&2; exit 2; }
    root=$out/$suite
    [ -e "$root/complete" ] && return 0
    state=$(mktemp -d) || exit 1
    trap 'rm -rf "$state"' EXIT
    mkdir -p "$state/lists/partial" "$state/archives/partial"
    : >"$state/status"
    echo "deb [signed-by=$keyring] $mirror $suite main" >"$state/sources.list"
    echo "fetch_runtimes: $suite from $mirror"
    suite_apt "$state" update >"$state/log" 2>&1 &&
        ! grep -q '^Err:' "$state/log" || { cat "$state/log" >&2; skip "cannot reach $suite"; }
    # shellcheck disable=SC2086  # a list of packages
    suite_apt "$state" install --download-only $packages >"$state/log" 2>&1 ||
        { cat "$state/log" >&2; skip "cannot download $packages of $suite"; }
    rm -rf "$root" && mkdir -p "$root" || exit 1
    for deb in "$state"/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$root" || exit 1
    done
    rm -rf "$state"
    trap - EXIT
    # Programs linked to HIP 5 find HIP 6 here, and hipGetProcAddress() what it opens.
    mkdir "$root/compat"
    for runtime in "$root"/usr/lib/x86_64-linux-gnu/libamdhip64.so.[0-9]; do
        for name in libamdhip64.so.5 libamdhip64.so; do
            ln -s "../usr/lib/x86_64-linux-gnu/${runtime##*/}" "$root/compat/$name"
        done
    done
    touch "$root/complete"
}

for suite in "$@"; do
    fetch "$suite"
done
echo "fetch_runtimes: $* in $out"
