#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Installs what hipboard needs on Debian 12, and nothing that is there already.
#
#   bash tools/setup.sh [build|view|hip|openmm|debian|test]...
#
#   build   compiler, build tools and libraries         (Debian packages)
#   view    TensorBoard with its profiler plugin        (Python packages in .venv/)
#   hip     AMD's compiler, for samples/plate           (Debian packages)
#   openmm  a program for tests                         (Python packages in .venv/)
#   debian  what tests and builds take of Debian        (Debian packages, HIP runtimes)
#   test    all of them, and all that the tests use     (the default)
#
# Debian packages need root or sudo. The Python packages stay in the checkout.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
root=$PWD

build_packages=(
    gcc libc6-dev meson ninja-build pkg-config
    dpkg-dev                # tells meson where Debian's libraries are installed
    zlib1g-dev              # gzipped traces
    libprotobuf-c-dev       # event files
    protobuf-c-compiler
    libcjson-dev            # the JSON of users' metadata
    libdw-dev               # names and lines of call stacks
    libsqlite3-dev          # databases of ROCm's tools
    libmicrohttpd-dev       # hipboard serve
    libunwind8              # call stacks
    libcmocka-dev           # unit tests
    elfutils                # ... and where one hangs
    libamdhip64-dev         # HIP's headers; its runtime is loaded only where there is one
)
view_packages=(python3-venv)
hip_packages=(hipcc)
test_packages=(
    binutils cmake g++ gfortran # the installed library, used from outside
    clang libclang-rt-14-dev # fuzzing
    libopenblas-dev liblapacke-dev libfftw3-dev libdnnl-dev # libraries whose calls are operators
    patchelf                # a wheel
    valgrind                # counts of instructions
    locales                 # a language with decimal commas
    chromium                # screenshots
    libjs-webcomponentsjs-custom-element-v0 # the plugin's trace viewer, offline
    libamdhip64-5           # the HIP runtime itself
    libopenmpi-dev openmpi-bin # two MPIs
    libmpich-dev mpich
    libhsa-runtime-dev      # the simulated GPU below it
    libomp-14-dev           # an OpenMP that tells of itself
    strace                  # which files a rank makes
)

say() { echo "hipboard: $*"; }
die() { say "$*" >&2; exit 1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "neither root nor sudo; as root, run: apt-get install ${missing[*]}"
    fi
}

# Runs a command quietly; shows the end of what it said when it fails.
quietly() {
    local log
    log=$(mktemp)
    if ! "$@" >"$log" 2>&1 </dev/null; then
        tail -n 25 "$log" >&2
        rm -f "$log"
        die "failed: $*"
    fi
    rm -f "$log"
}

install_packages() {
    missing=()
    local package
    for package in "$@"; do
        dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' ||
            missing+=("$package")
    done
    [ ${#missing[@]} = 0 ] && return
    command -v apt-get >/dev/null || die "no apt-get here; install the like of: ${missing[*]}"
    as_root true
    say "installing ${missing[*]}"
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=600)
    # A list that can't be had need not be one that is needed; installing will tell.
    as_root "${apt[@]}" update >/dev/null 2>&1 </dev/null || say "some package lists are old"
    quietly as_root "${apt[@]}" install -y --no-install-recommends "${missing[@]}"
}

# Debian's own Python, for which python3-venv is.
make_venv() {
    .venv/bin/python -c '' 2>/dev/null && return
    say "making .venv"
    rm -rf .venv
    quietly /usr/bin/python3 -m venv .venv
}

# A stamp of the list installed last makes the second run quick.
install_python() {
    local list=$1 stamp=".venv/installed-${1//\//-}"
    shift
    cmp -s "$list" "$stamp" && return
    say "installing the Python packages of $list (this may take minutes)"
    quietly .venv/bin/python -m pip install --no-input --disable-pip-version-check -r "$list"
    if [ $# -gt 0 ]; then
        quietly .venv/bin/python -m pip install --no-input --disable-pip-version-check --no-deps "$@"
    fi
    cp "$list" "$stamp"
}

# A program of others, for a test that says that it is skipped without.
install_openmm() {
    local list=tests/requirements-openmm.txt
    cmp -s "$list" .venv/installed-openmm.txt && return
    say "installing OpenMM for a test (17 MB)"
    if .venv/bin/python -m pip install -q --no-input --disable-pip-version-check --no-deps -r "$list" \
        >/dev/null 2>&1 </dev/null; then
        cp "$list" .venv/installed-openmm.txt
    else
        say "PyPI does not have what $list names: the test on OpenMM will be skipped"
    fi
}

setup_view() {
    install_packages "${view_packages[@]}"
    make_venv
    install_python tools/requirements.txt
}

# ROCm brings a compiler of its own.
setup_hip() {
    [ -x /opt/rocm/bin/hipcc ] || install_packages "${hip_packages[@]}"
}

# Newer runtimes than Debian 12's, for the tests on them; those say that they are skipped without.
fetch_runtimes() {
    say "fetching the HIP runtimes of newer Debian releases, where they are not here yet"
    timeout 900 sh tools/simhsa/fetch_runtimes.sh >/dev/null ||
        say "tests on newer HIP runtimes will be skipped"
}

setup_packages() {
    install_packages "${build_packages[@]}" "${view_packages[@]}" "${test_packages[@]}"
    setup_hip
    fetch_runtimes
}

for level in "${@:-test}"; do
    case $level in
    build) install_packages "${build_packages[@]}" ;;
    view) setup_view ;;
    hip) setup_hip ;;
    openmm) install_openmm ;;
    debian) setup_packages ;;
    test)
        setup_packages
        setup_view
        install_python tests/requirements.txt HolisticTraceAnalysis==0.5.0
        install_openmm
        ;;
    *) die "usage: bash tools/setup.sh [build|view|hip|openmm|debian|test]..." ;;
    esac
done
say "ready in $root"
