#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Builds hipboard and runs its tests, installing first what they need (root or sudo).
#
#   bash tests/run.sh [--strict] [all|unit|e2e] [-k EXPRESSION]
#
#   unit   C tests, also those on the simulated GPU: plain, with address and undefined-behaviour
#          checks, with thread checks
#   e2e    lint, installation, real TensorBoard, real browser, real PyTorch (pytest)
#   --strict  a skipped test is a failure, but for those that tests/allowed_skips.txt gives a reason
#   -k     only tests that match: a name for unit tests, pytest's -k expression for the others
#
# The last line is "N passed, N failed", after the names of those that failed and what they said; the
# exit status is 1 if any failed.
set -uo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

what=all
filter=
tally=()
while [ $# -gt 0 ]; do
    case $1 in
    all | unit | e2e) what=$1 ;;
    --strict) tally=(--strict tests/allowed_skips.txt) ;;
    -k) filter=${2:?-k needs an expression} && shift ;;
    *) sed -n '6,13s/^# \{0,1\}//p' "$0" && exit 2 ;;
    esac
    shift
done

out=tests/out
results=()
broken=0 # steps that ended before they had a result
started=$SECONDS

say() { echo "== $* ($((SECONDS - started)) s)"; }

finish() {
    local passed failed skipped
    read -r passed failed skipped < <(python3 tests/tally.py "${tally[@]}" ${results[@]+"${results[@]}"})
    [ "${skipped:-0}" = 0 ] || echo "$skipped skipped"
    failed=$((${failed:-1} + broken))
    echo "${passed:-0} passed, $failed failed"
    [ "$failed" = 0 ] && [ "${passed:-0}" != 0 ]
    exit
}

# build_in DIR MESON_OPTION...
build_in() {
    local dir=$1
    shift
    if [ ! -f "$dir/build.ninja" ]; then
        meson setup "$dir" --werror "$@" >"$out/$dir.log" 2>&1 ||
            { tail -n 20 "$out/$dir.log"; return 1; }
    fi
    ninja -C "$dir" >"$out/$dir.log" 2>&1 || { tail -n 40 "$out/$dir.log"; return 1; }
}

# Tests often wait: a tree is built of what those of the one before leave of the processors.
build_ahead() {
    (
        renice -n 19 "$BASHPID" >/dev/null
        build_in "$@"
    ) &
    ahead=$!
}

# In each tree, "DIR MESON_OPTION..."
run_unit() {
    local trees=("$@") tree i built
    read -ra tree <<<"${trees[0]}"
    build_ahead "${tree[@]}"
    for i in "${!trees[@]}"; do
        say "unit tests in ${trees[i]}"
        wait "$ahead" && built=1 || built=0
        broken=$((broken + 1 - built))
        if [ -n "${trees[i + 1]:-}" ]; then
            read -ra tree <<<"${trees[i + 1]}"
            build_ahead "${tree[@]}"
        fi
        [ "$built" = 0 ] || test_unit "${trees[i]%% *}"
    done
}

test_unit() {
    local dir=$1 names=()
    if [ -n "$filter" ]; then
        mapfile -t names < <(meson test -C "$dir" --no-rebuild --suite unit --suite hip --list 2>/dev/null |
            sed 's/.* \/ //' | grep -E -- "$filter")
        [ ${#names[@]} -gt 0 ] || return
    fi
    local log=$dir/meson-logs/testlog-stacks.sh.json # as meson names it after the wrapper
    rm -f "$log"
    # Limits are for what hangs, not for what is slow; stacks.sh shows where it does. Many tests wait
    # for something: one more than there are processors.
    meson test -C "$dir" --no-rebuild --num-processes "$(($(nproc) + 1))" --suite unit \
        --suite hip --timeout-multiplier 10 --wrapper "$PWD/tests/stacks.sh" --print-errorlogs \
        "${names[@]}" </dev/null 2>&1 | grep -vE '^(ninja: |Full log|Expected Fail|Unexpected Pass|$)'
    results+=("$log")
    [ -f "$log" ] || broken=$((broken + 1))
}

run_e2e() {
    say "end-to-end tests"
    if ! build_in build; then
        broken=$((broken + 1))
        return
    fi
    rm -f "$out/pytest.xml"
    # Files side by side, a file's tests one after another, which often wait, too; more processes than
    # four want much memory.
    local side_by_side=$(($(nproc) < 4 ? $(nproc) + 1 : 4))
    .venv/bin/python -m pytest tests/lint tests/e2e -v --tb=short --durations=5 \
        -n "$side_by_side" --dist loadfile \
        -o cache_dir=tests/.cache/pytest --junitxml="$out/pytest.xml" \
        ${filter:+-k "$filter"} </dev/null 2>&1
    if [ -f "$out/pytest.xml" ]; then
        results+=("$out/pytest.xml")
    else
        broken=$((broken + 1))
    fi
}

mkdir -p "$out"
level=debian
[ "$what" = unit ] && level=build
say "setting up"
bash tools/setup.sh "$level" </dev/null || { broken=1; finish; }
if [ "$what" != unit ]; then
    bash tools/setup.sh test </dev/null & # Python's packages come while all is built
    setup=$!
fi
if [ "$what" != e2e ]; then
    export ASAN_OPTIONS=detect_stack_use_after_return=1
    export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
    export TSAN_OPTIONS=halt_on_error=1
    # -O1: compiling at -O2 takes longer than the tests' gain.
    run_unit build "build-asan -Db_sanitize=address,undefined -Doptimization=1" \
        "build-tsan -Db_sanitize=thread -Doptimization=1"
fi
if [ "$what" != unit ]; then
    wait "$setup" || { broken=$((broken + 1)); finish; }
    run_e2e
fi
say "done"
finish
