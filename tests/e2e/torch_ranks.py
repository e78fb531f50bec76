# SPDX-License-Identifier: MIT
"""Jobs of several ranks over gloo whose traces PyTorch's profiler writes, with a late rank that is known.

    python torch_ranks.py RANK SIZE STORE JOBS     one rank; run() starts all of them

JOBS is JSON: a list of {"directory", "late": a rank or null, "ms": how late at each step, "behind": it comes to each
collective only when all others say that they do, "steps", "noise_ms": the deviation of everybody's own work}.
"""
import datetime
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

COLLECTIVES = 3  # a step


def run(size, jobs, work, timeout=300):
    """All jobs one after the other, by the same processes. Returns when all have ended well."""
    for job in jobs:
        Path(job["directory"]).mkdir(parents=True)
    environment = dict(os.environ, OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo")
    ranks = [subprocess.Popen([sys.executable, __file__, str(rank), str(size), str(work / "store"), json.dumps(jobs)],
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
             for rank in range(size)]
    said = [rank.communicate(timeout=timeout)[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0] * size, "\n".join(said)


class Others:
    """How many of the others have come to a collective, by files that they make empty."""

    def __init__(self, store, size):
        self.store, self.size, self.turn = Path(store + ".turns"), size, 0
        self.store.mkdir(exist_ok=True)

    def come(self, rank, late):
        self.turn += 1
        if rank != late:
            (self.store / f"{self.turn}.{rank}").touch()
            return
        while sum((self.store / f"{self.turn}.{r}").exists() for r in range(self.size)) < self.size - 1:
            time.sleep(0.0005)
        time.sleep(0.003)


def step(job, rank, tensor, others, chance):
    import torch
    import torch.distributed as dist

    for _ in range(COLLECTIVES):
        torch.mm(tensor, tensor)
        if job.get("noise_ms"):
            time.sleep(max(0, chance.gauss(5, job["noise_ms"])) / 1e3)
        if job["late"] == rank and job.get("ms"):
            time.sleep(job["ms"] / 1e3 / COLLECTIVES)
        if job.get("behind"):
            others.come(rank, job["late"])
        dist.all_reduce(tensor[0])


def one_job(job, number, rank, tensor, others):
    import torch.distributed as dist
    from torch.profiler import ProfilerActivity, profile, schedule

    chance = random.Random(f"{job['directory']} {rank}")
    name = f"node{rank // 2}_{rank}.{number + 1}.pt.trace.json"
    steps = job.get("steps", 6)
    dist.barrier()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, schedule=schedule(wait=0, warmup=1, active=steps),
                 on_trace_ready=lambda p: p.export_chrome_trace(str(Path(job["directory"]) / name))) as profiler:
        for _ in range(steps + 1):
            step(job, rank, tensor, others, chance)
            profiler.step()


def main(rank, size, store, jobs):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size,
                            timeout=datetime.timedelta(seconds=240))
    tensor, others = torch.ones(64, 64) / 64, Others(store, size)
    for number, job in enumerate(json.loads(jobs)):
        one_job(job, number, rank, tensor, others)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
