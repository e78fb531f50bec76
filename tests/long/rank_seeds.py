# SPDX-License-Identifier: MIT
"""Jobs whose ranks are late by chance alone, even or with long tails: `hipboard ranks` must name nobody. And jobs with a
rank that is late by 0.5 to 5 standard deviations of everybody's work, which is normally distributed: which are found."""
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


def named(ranks, steps, collectives, noise, late=None, lateness=0.0):
    with tempfile.TemporaryDirectory() as directory:
        made_ranks.write(Path(directory), ranks, steps=steps, collectives=collectives, noise=noise, late=late,
                         lateness=lateness)
        done = subprocess.run([HIPBOARD, "ranks", "--json", directory], capture_output=True, text=True, check=True)
    return [late["rank"] for late in json.loads(done.stdout)["late"]]


def by_chance(ranks, steps, collectives, seed):
    chance = random.Random(seed)
    tail = seed % 2
    noise = (lambda: 30 + min(60, chance.expovariate(1 / 8))) if tail else (lambda: chance.uniform(50, 60))
    return named(ranks, steps, collectives, noise)


def late_by(deviations, seed, ranks, collectives):
    """Right, none, or wrong: who is named of a job whose rank 5 is late by so much."""
    chance = random.Random(1000 * deviations + seed)
    found = named(ranks, 5, collectives, lambda: chance.gauss(50, 1), late=5, lateness=deviations)
    return "none" if not found else "right" if found == [5] else "wrong"


SIZES = [(64, 10), (64, 40), (8, 10)]  # ranks, collectives in each of five steps
for ranks, collectives in SIZES:
    print(f"{ranks} ranks, 5 steps of {collectives} collectives, ten seeds each: late by, named right, nobody, wrong")
    least = None
    for tenths in range(5, 55, 5):
        score = [late_by(tenths / 10, seed, ranks, collectives) for seed in range(10)]
        print(f"  {tenths / 10:.1f} deviations: {score.count('right'):2} {score.count('none'):2} {score.count('wrong'):2}")
        least = tenths / 10 if least is None and score.count("right") == 10 else least
    print(f"  the least that is found in all ten: {least} standard deviations", flush=True)

wrong, jobs = [], 0
for seed in range(10):
    jobs += 1
    wrong += [(1000, 5, 10, seed, rank) for rank in by_chance(1000, 5, 10, seed)]
for seed in range(300):
    shape = [(4, 12, 8), (8, 20, 4), (2, 30, 5), (16, 40, 1), (64, 10, 3)][seed % 5]
    jobs += 1
    wrong += [(*shape, seed, rank) for rank in by_chance(*shape, seed)]
for ranks, steps, collectives, seed, rank in wrong:
    print(f"{ranks} ranks, {steps} steps of {collectives} collectives, seed {seed}: rank {rank} is named")
print(f"{jobs} jobs in which nobody is late: {len(wrong)} names")
sys.exit(bool(wrong))
