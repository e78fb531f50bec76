#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Trains the network three times with different settings, for TensorBoard to compare:
#
#   bash samples/digits/three_runs.sh [LOGDIR]        default: runs/settings
set -euo pipefail
digits=$(dirname "$(readlink -f "$0")")/../../build/samples/digits/digits
logdir=${1:-runs/settings}

# train NAME OPTION...: again from the start, without what an earlier training left.
train() {
    echo "== ${*:2}"
    rm -rf "${logdir:?}/$1"
    "$digits" --logdir "$logdir/$1" "${@:2}" | tail -n 2
}

train plain --gemm plain
train ordered --gemm ordered
train ahead --gemm ordered --workers 2 --batch-size 64 --lr 0.04
