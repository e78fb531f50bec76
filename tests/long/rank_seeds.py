# SPDX-License-Identifier: MIT
"""Jobs whose ranks are late by chance alone, even or with long tails: `hipboard ranks` must name nobody."""
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
import made_ranks  # noqa: E402

HIPBOARD = Path(os.environ.get("MESON_BUILD_ROOT", ROOT / "build")) / "tools/hipboard/hipboard"


def named(ranks, steps, collectives, seed, tail):
    chance = random.Random(seed)
    noise = (lambda: 30 + min(60, chance.expovariate(1 / 8))) if tail else (lambda: chance.uniform(50, 60))
    with tempfile.TemporaryDirectory() as directory:
        made_ranks.write(Path(directory), ranks, steps=steps, collectives=collectives, noise=noise)
        done = subprocess.run([HIPBOARD, "ranks", "--json", directory], capture_output=True, text=True, check=True)
    return [late["rank"] for late in json.loads(done.stdout)["late"]]


wrong, jobs = [], 0
for seed in range(10):
    jobs += 1
    wrong += [(1000, 5, 10, seed, rank) for rank in named(1000, 5, 10, seed, seed % 2)]
for seed in range(300):
    shape = [(4, 12, 8), (8, 20, 4), (2, 30, 5), (16, 40, 1), (64, 10, 3)][seed % 5]
    jobs += 1
    wrong += [(*shape, seed, rank) for rank in named(*shape, seed, seed % 2)]
for ranks, steps, collectives, seed, rank in wrong:
    print(f"{ranks} ranks, {steps} steps of {collectives} collectives, seed {seed}: rank {rank} is named")
print(f"{jobs} jobs in which nobody is late: {len(wrong)} names")
sys.exit(bool(wrong))
