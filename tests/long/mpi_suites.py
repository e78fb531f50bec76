# SPDX-License-Identifier: MIT
"""mpi_suites.py RUNTIMES OUT: the tests' program of MPI, recorded on this machine's MPIs and on newer ones: what is
recorded must be the same."""
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HIPBOARD = Path(os.environ.get("MESON_BUILD_ROOT", ROOT / "build")) / "tools/hipboard/hipboard"
KEYS = ("dtype", "In msg nelems", "Out msg nelems", "Group size", "Process Group Name", "Process Group Ranks",
        "Dst Rank", "Seq", "Is asynchronized op", "bytes")
IN_ROOT = """
    for d in proc dev sys %s; do mkdir -p "$root/$d"; mount --rbind "/$d" "$root/$d"; done
    for link in bin sbin; do [ -e "$root/$link" ] || ln -s "usr/$link" "$root/$link"; done
    exec chroot "$root" /usr/bin/env PATH=/usr/bin "$@"
"""
RANKS = 3


def in_root(root, command, **variables):
    """The places that the program needs are those of this machine."""
    places = {str(place).split("/")[1] for place in (ROOT, HIPBOARD, Path(sys.argv[2]))} | {"tmp"}
    return subprocess.run(["unshare", "-m", "sh", "-ec", IN_ROOT % " ".join(sorted(places)), "in_root", *command],
                          env=dict(ENVIRONMENT, root=str(root), **variables), capture_output=True, text=True,
                          timeout=300)


ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1",
                   PRTE_ALLOW_RUN_AS_ROOT="1", PRTE_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe")


def calls(logdir, library):
    """Of each rank, in order; what depends on who was first, as a receive's source, is left out."""
    ranks = []
    for path in sorted(logdir.glob("*.pt.trace.json")):
        document = json.loads(path.read_text())
        assert document["hipboard_mpi"] == {"library": library, "recorded": True}, document["hipboard_mpi"]
        events = document["traceEvents"]
        begun, ended = ([e["id"] for e in events if e["ph"] == phase and e["name"].startswith("MPI_")]
                        for phase in "sf")
        assert sorted(begun) == sorted(ended) and len(begun) == len(set(begun)) > 0
        found = sorted((e for e in events if e["ph"] == "X" and e["name"].startswith("MPI_")), key=lambda e: e["ts"])
        ranks.append([(e["name"], *(e["args"].get(key) for key in KEYS)) for e in found
                      if not e["name"].endswith("_c")])
    assert len(ranks) == RANKS
    return ranks


def run(logdir, library, mpi, program, root=None, **variables):
    command = [f"mpirun.{mpi}", "-n", str(RANKS), str(HIPBOARD), "record", "-q", "-o", str(logdir), "--", str(program)]
    done = in_root(root, command, **variables) if root else subprocess.run(
        command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
    return calls(logdir, library)


runtimes, out = Path(sys.argv[1]), Path(sys.argv[2])
families = {"openmpi": "Open MPI", "mpich": "MPICH"}
expected = {mpi: run(out / f"log_{mpi}", library, mpi, out / f"calls_{mpi}") for mpi, library in families.items()}
for mpi, library in families.items():
    for suite in ("trixie", "sid"):
        found = run(out / f"log_{mpi}_{suite}", library, mpi, out / f"calls_{mpi}", runtimes / f"mpi-{suite}")
        assert found == expected[mpi], suite
        print(f"{library} of {suite}: as this machine's", flush=True)
    found = run(out / f"log_abi_{mpi}", "MPI ABI", mpi, out / "calls_abi", runtimes / "mpi-sid",
                LD_LIBRARY_PATH=str(out / f"abi_{mpi}"))
    assert found == expected["mpich"]  # of MPI 4 as well, with calls of large counts
    print(f"MPI's own ABI on {library} of sid: as MPICH of this machine", flush=True)
