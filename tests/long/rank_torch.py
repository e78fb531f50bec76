# SPDX-License-Identifier: MIT
"""Who is late in traces of PyTorch's own writer, by jobs in which that is known. On a machine that does something else
as well, or has fewer cores than ranks, others are late now and then: truth is who sleeps, not who is disturbed."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
import torch_ranks  # noqa: E402

HIPBOARD = Path(os.environ.get("MESON_BUILD_ROOT", ROOT / "build")) / "tools/hipboard/hipboard"
RANKS, STEPS = 8, 12


def answer(directory, late):
    done = subprocess.run([HIPBOARD, "ranks", "--json", directory], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    if found["inconclusive"]:
        return "inconclusive"
    named = [rank["rank"] for rank in found["late"]]
    if late is None:
        return "wrong" if named else "right"
    return "nobody" if not named else "right" if named[0] == late else "wrong"


scores = {}
with tempfile.TemporaryDirectory() as work:
    jobs = [{"directory": f"{work}/{ms}_{i}", "late": (3 * i + ms) % RANKS, "ms": ms, "noise_ms": 1, "steps": STEPS}
            for ms in (1, 2, 5, 10, 20) for i in range(6)]
    jobs += [{"directory": f"{work}/0_{i}", "late": None, "ms": 0, "noise_ms": 1, "steps": STEPS} for i in range(10)]
    torch_ranks.run(RANKS, jobs, Path(work), timeout=1200)
    for job in jobs:
        scores.setdefault(job["ms"], []).append(answer(job["directory"], job["late"]))
for ms, score in sorted(scores.items()):
    print(f"late by {ms:2} ms a step: " + ", ".join(f"{score.count(word)} {word}" for word in
                                                ("right", "nobody", "inconclusive", "wrong") if word in score))
wrong = sum(score.count("wrong") for score in scores.values())
print(f"{sum(map(len, scores.values()))} jobs, {wrong} wrong names")
sys.exit(scores[20].count("right") < 5 or scores[10].count("right") < 4)
