#!/bin/bash
# SPDX-License-Identifier: MIT
#
# what: trampolines on aarch64, under qemu: assembled, called in every way, unwound
# time: 1 min
# disk: 250 MB
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

command -v qemu-aarch64 aarch64-linux-gnu-gcc >/dev/null || {
    sudo=$([ "$(id -u)" = 0 ] || echo sudo)
    $sudo apt-get install -y --no-install-recommends qemu-user gcc-aarch64-linux-gnu \
        libc6-dev-arm64-cross >/dev/null
}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for protection in none standard; do
    aarch64-linux-gnu-gcc -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -fexceptions \
        -mbranch-protection=$protection -Itests/long/standin -Iinclude -Isrc/common -Isrc/recorder \
        src/recorder/interpose/trampolines.c tests/unit/test_trampolines.c -o "$out/test"
    echo "-mbranch-protection=$protection"
    QEMU_LD_PREFIX=/usr/aarch64-linux-gnu qemu-aarch64 "$out/test"
done
