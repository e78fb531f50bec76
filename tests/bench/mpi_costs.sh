#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What recording adds to calls of MPI, of Open MPI and MPICH: sh tests/bench/mpi_costs.sh BUILD
#
# RANKS, "1 2": of how many ranks. RUNS, 7: how often two ranks reduce alone and recorded, in turns,
# since one run differs from the next by more than a call costs: what recording adds is to be judged
# beside what the runs without it differ by.
set -eu
build=$(readlink -f "${1:-build-bench}")
here=$(dirname "$(readlink -f "$0")")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
record="$build/tools/hipboard/hipboard record -q -o $place/log"

reduce() { # WAY MPI [RECORD]: the best rounds of two ranks' Allreduce, in ns, to the way's runs
    way=$1 mpi=$2
    shift 2
    mpirun.$mpi -n 2 "$@" "$place/calls" 2>"$place/said" |
        sed -n 's/^ *Allreduce, \(8 bytes\|64 KiB\) *\([0-9]*\) ns.*/\2 \1/p' >>"$place/$way"
    rm -rf "$place/log"
}

in_turns() { # MPI
    : >"$place/alone" && : >"$place/recorded"
    for _ in $(seq "${RUNS:-7}"); do
        reduce alone $1
        reduce recorded $1 $record --
    done
    for size in '8 bytes' '64 KiB'; do
        echo "$1, Allreduce of $size of 2 ranks, the best round of each of ${RUNS:-7} runs, in turns:"
        for way in alone recorded; do
            grep "$size" "$place/$way" | sort -n | awk -v way=$way '{ns[NR] = $1} END {
                printf "  %-22s %7.0f ns    middle, of", way, ns[int((NR + 1) / 2)]
                for (i = 1; i <= NR; i++) printf " %d", ns[i]
                print ""
            }'
        done
    done
}

for mpi in openmpi mpich; do
    command -v mpicc.$mpi >/dev/null || continue
    mpicc.$mpi -O2 "$here/mpi_costs.c" -o "$place/calls"
    for ranks in ${RANKS:-1 2}; do
        echo "$mpi, $ranks ranks, alone:"
        mpirun.$mpi -n $ranks "$place/calls"
        echo "$mpi, $ranks ranks, recorded by nobody (--on-demand):"
        mpirun.$mpi -n $ranks $record --on-demand -- "$place/calls" 2>/dev/null
        echo "$mpi, $ranks ranks, recorded:"
        mpirun.$mpi -n $ranks $record -- "$place/calls"
        rm -rf "$place/log"
    done
    in_turns $mpi
done
