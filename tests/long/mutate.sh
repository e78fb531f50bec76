#!/bin/bash
# SPDX-License-Identifier: MIT
# what: small faults put into src one at a time; says which no test notices
# time: 30 min
# disk: 400 MB
#
#   bash tests/long/mutate.sh [MINUTES] [SEED] [ROOM...]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
minutes=${1:-30} seed=${2:-1}
shift $(($# < 2 ? $# : 2))
[ $# -gt 0 ] || set -- base trace read plugin insight compare tools
exec python3 tests/mutate/mutate.py --minutes "$minutes" --seed "$seed" "$@"
