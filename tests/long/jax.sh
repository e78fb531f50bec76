#!/bin/bash
# SPDX-License-Identifier: MIT
# what: JAX from PyPI, on HIP 7.2, beside rocprofiler-sdk's stand-in, which XLA takes: all its GPU did is in the trace
# time: 3 min
# disk: 1.2 GB
#
# Wheels of 350 MB are downloaded once, into ~/.cache/hipboard/jax. Libraries that XLA is linked to and hardly
# calls (BLAS, FFT, ...) are stubs.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
[ -f build/build.ninja ] || meson setup build --werror >/dev/null
ninja -C build >/dev/null
bash tools/setup.sh view >/dev/null
sh tools/simhsa/fetch_runtimes.sh experimental
cache=${XDG_CACHE_HOME:-$HOME/.cache}/hipboard
if ! cmp -s tests/long/requirements-jax.txt "$cache/jax/installed"; then
    rm -rf "$cache/jax"
    .venv/bin/python -m pip install -q --no-input --disable-pip-version-check --target "$cache/jax" \
        -r tests/long/requirements-jax.txt
    cp tests/long/requirements-jax.txt "$cache/jax/installed"
fi
out=$PWD/tests/out/jax
rm -rf "$out/libraries" && mkdir -p "$out/libraries"
for name in librocprofiler-sdk.so librocprofiler-sdk.so.1; do # the recorder looks for the first, XLA for the other
    ln -sf "$PWD/build/tests/hip/rocprofiler/librocprofiler-sdk.so.1" "$out/libraries/$name"
done
runtime=${SIMHSA_RUNTIMES:-$cache/runtimes}/experimental/usr/lib/x86_64-linux-gnu
.venv/bin/python tests/long/stub_libraries.py "$out/libraries" "$runtime:$out/libraries" \
    "$cache"/jax/jax_plugins/xla_rocm7/xla_rocm_plugin.so "$cache"/jax/jax_rocm7_plugin/*.so
.venv/bin/python tests/long/clients.py "$out" experimental "PYTHONPATH=$cache/jax" "LD_LIBRARY_PATH=$out/libraries" \
    -- .venv/bin/python tests/long/jax_steps.py
