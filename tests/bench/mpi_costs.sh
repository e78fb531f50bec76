#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What recording adds to calls of MPI, of Open MPI and MPICH: sh tests/bench/mpi_costs.sh BUILD
set -eu
build=$(readlink -f "${1:-build-bench}")
here=$(dirname "$(readlink -f "$0")")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
for mpi in openmpi mpich; do
    command -v mpicc.$mpi >/dev/null || continue
    mpicc.$mpi -O2 "$here/mpi_costs.c" -o "$place/calls"
    for ranks in ${RANKS:-1 2}; do
        record="$build/tools/hipboard/hipboard record -q -o $place/log"
        echo "$mpi, $ranks ranks, alone:"
        mpirun.$mpi -n $ranks "$place/calls"
        echo "$mpi, $ranks ranks, recorded by nobody (--on-demand):"
        mpirun.$mpi -n $ranks $record --on-demand -- "$place/calls" 2>/dev/null
        echo "$mpi, $ranks ranks, recorded:"
        mpirun.$mpi -n $ranks $record -- "$place/calls"
        rm -rf "$place/log"
    done
done
