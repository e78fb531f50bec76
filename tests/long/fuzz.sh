#!/bin/bash
# SPDX-License-Identifier: MIT
# what: libFuzzer with ASan and UBSan on every target of tests/fuzz; what it learns is kept
# time: 30 min
# disk: 1.5 GB
#
#   bash tests/long/fuzz.sh [--minutes MINUTES] [--quiet MINUTES] [--share] [--random N] [--save] [TARGET...]
#
# --minutes are for all targets together (30). A target that brought no new edge in --quiet minutes
# of CPU (30), its runs before counted, is done, and not begun again.
#
# Inputs that reach something new are kept in ~/.cache/hipboard/fuzz/TARGET, so that runs add up:
# history.tsv beside them has a line for each. What a target fell over lies in TARGET-findings there.
# --share gives the targets that read traces each other's inputs, --random N them and import_database
# so many that programs make up (tests/e2e/random_traces.py, tests/fuzz/random_databases.py); what
# reaches something new is kept.
# --save puts as few and short inputs as reach all edges, and the history, into tests/fuzz/learned,
# where the next machine begins.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
if [ ! -f build-fuzz/build.ninja ]; then
    CC=clang-14 meson setup build-fuzz --buildtype=debugoptimized -Db_sanitize=address,undefined \
        -Db_lundef=false \
        "-Dc_args=-fsanitize=fuzzer-no-link,float-cast-overflow -fno-sanitize-recover=undefined,float-cast-overflow -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION" \
        >/dev/null
fi
exec python3 tests/long/fuzz.py "$@"
