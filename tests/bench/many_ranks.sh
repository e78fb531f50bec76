#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What a thousand ranks cost, traces of 148 kB each, and ten thousand digests of 50
# collectives each: time and memory of `hipboard ranks`, of the Distributed view, and of what else digests answer.
#     sh tests/bench/many_ranks.sh BUILD [DIRECTORY]    takes 350 MB below DIRECTORY (/tmp)
set -eu
hipboard=$(realpath "$1")/tools/hipboard/hipboard
work=$(mktemp -d "${2:-/tmp}/many_ranks.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$(dirname "$0")/../e2e"
python3 - "$work" <<'PYTHON'
import pathlib, sys
import made_ranks
work = pathlib.Path(sys.argv[1])
made_ranks.write(work / "traces", 1000, late=17, collectives=100)
made_ranks.write(work / "many", 10000, late=17, collectives=10)
PYTHON

took() {
    what=$1
    shift
    /usr/bin/time -f "$what: %e s, %U s of processor, %M kB" "$@" >"$work/out"
}
took '1000 traces, ranks' "$hipboard" ranks "$work/traces"
took '1000 traces, Distributed view' "$hipboard" view "$work/traces" --view distributed
took '1000 traces into digests' "$hipboard" ranks -o "$work/d.hbranks" "$work/traces"
took '1000 digests' "$hipboard" ranks "$work/d.hbranks"
took '1000 digests, steps' "$hipboard" steps "$work/d.hbranks"
took '1000 digests, overview' "$hipboard" view "$work/d.hbranks"
took '1000 digests, compared with themselves' "$hipboard" compare "$work/d.hbranks" "$work/d.hbranks"
took '1000 digests, the plugin'"'"'s list of workers' "$hipboard" query "$work/d.hbranks" 'workers?run=d&view=Overview'
"$hipboard" ranks -o "$work/m.hbranks" "$work/many"
took '10000 digests of 50 collectives' "$hipboard" ranks "$work/m.hbranks"
sed -n '/^Who/,/^$/p' "$work/out"
