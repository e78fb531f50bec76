# SPDX-License-Identifier: MIT
"""What recorded ranks do to the file system: into a shared directory as little as can be."""
import fcntl
import json
import os
import re
import signal
import subprocess
import time
import zipfile
from pathlib import Path

import pytest

from support import BUILD, PROGRAMS

HIPBOARD = BUILD / "tools/hipboard/hipboard"
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1")
pytestmark = pytest.mark.skipif("san" in BUILD.name, reason="needs a build without sanitizers")
# Communicates with itself, and waits to be killed where it is told to.
ALONE = """
    #include <mpi.h>
    #include <stdio.h>
    #include <unistd.h>
    int main(int argc, char **argv)
    {
        MPI_Init(&argc, &argv);
        MPI_Barrier(MPI_COMM_SELF);
        puts("ready");
        fflush(stdout);
        if (argc > 1) pause();
        MPI_Finalize();
    }"""
# Of no MPI. "wait": until its input ends; a file's name: a child of it goes on until there is such a file.
MARKED = """
    #include <hipboard/hipboard.h>
    #include <stdio.h>
    #include <string.h>
    #include <unistd.h>
    int main(int argc, char **argv)
    {
        int fds[2];
        char byte;
        HB_RECORD_FUNCTION("work") {}
        if (argc < 2) return 0;
        if (strcmp(argv[1], "wait") == 0) return puts("ready"), fflush(stdout), getchar() != EOF;
        if (pipe(fds) != 0 || fork() != 0) return close(fds[1]), read(fds[0], &byte, 1) != 1;
        HB_RECORD_FUNCTION("later") {}
        close(1), close(2);
        if (write(fds[1], "", 1) != 1) return 1;
        while (access(argv[1], F_OK) != 0) usleep(10000);
    }"""
# A file system like Lustre is wherever a path says so.
FAR = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <string.h>
    #include <sys/statfs.h>
    #define FAR(name)                                                                 \\
        int name(const char *path, struct name *fs)                                   \\
        {                                                                             \\
            int (*real)(const char *, struct name *) = dlsym(RTLD_NEXT, #name);       \\
            int result = real(path, fs);                                              \\
            if (result == 0 && strstr(path, "/far")) fs->f_type = 0x0bd00bd0;         \\
            return result;                                                            \\
        }
    FAR(statfs)
    FAR(statfs64)"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    place = tmp_path_factory.mktemp("built")
    subprocess.run(["mpicc.openmpi", "-w", PROGRAMS / "mpi_calls.c", "-o", place / "calls"], check=True)
    subprocess.run(["mpicc.mpich", "-x", "c", "-", "-o", place / "alone"], input=ALONE, text=True, check=True)
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", place / "far.so"], input=FAR, text=True, check=True)
    library = BUILD / "src/recorder"
    subprocess.run(["cc", "-x", "c", "-", "-o", place / "marked", f"-I{BUILD.parent / 'include'}", f"-L{library}",
                    "-lhipboard", f"-Wl,-rpath,{library}"], input=MARKED, text=True, check=True)
    return place


def test_a_rank_makes_one_file_and_names_it_once(built, tmp_path):
    run, spools = tmp_path / "shared/run", tmp_path / "node"
    done = subprocess.run(
        ["mpirun.openmpi", "-n", "2", "strace", "-ff", "-y", "-o", tmp_path / "calls", "-e",
         "trace=openat,creat,mkdir,link,linkat,unlink,unlinkat,rename,renameat,renameat2,getdents64", HIPBOARD, "record",
         "-q", "--spool", spools, "-o", run, "--", built / "calls"],
        capture_output=True, text=True, timeout=300, env=ENVIRONMENT)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
    lines = [line for path in tmp_path.glob("calls.*") for line in path.read_text(errors="replace").splitlines()
             if f"{run}" in line and not re.search(r"= -1 E", line)]
    made = [line for line in lines if "O_CREAT" in line or "O_TMPFILE" in line or line.startswith(("creat(", "link"))]
    # beside these the job's one file of digests, and rank 0's event file
    own = [line for line in made if "ranks.hbranks" not in line and "tfevents" not in line]
    assert len(own) == 2 and all("/.hipboard-" in line for line in own), made
    renamed = [line for line in lines if line.startswith("rename")]
    assert len(renamed) == 2 and all(".pt.trace.json" in line for line in renamed), renamed
    assert not [line for line in lines if line.startswith("unlink")]
    listings = [line for line in lines if line.startswith("getdents") and "0 entries" not in line]
    assert len(listings) <= 1, listings  # rank 0 looks for what killed writers left
    assert len(list(run.glob("*.pt.trace.json"))) == 2
    assert not [path for path in spools.rglob("*") if path.is_file()]


def start(command, **variables):
    return subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=dict(ENVIRONMENT, **variables), start_new_session=True)


def test_a_rank_that_ends_lists_nothing_for_those_that_run(built, tmp_path):
    node, run = tmp_path / "node", tmp_path / "run"
    other = start([HIPBOARD, "record", "--spool", node, "-o", run, "--", built / "alone", "wait"])
    assert other.stdout.readline() == "ready\n"
    done = subprocess.run(["mpirun.openmpi", "-n", "2", "strace", "-ff", "-y", "-o", tmp_path / "calls", "-e",
                           "trace=getdents64", HIPBOARD, "record", "-q", "--spool", node, "-o", run, "--",
                           built / "calls"], capture_output=True, text=True, timeout=300, env=ENVIRONMENT)
    os.killpg(other.pid, signal.SIGKILL)
    other.communicate(timeout=60)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
    listings = [line for path in tmp_path.glob("calls.*") for line in path.read_text(errors="replace").splitlines()
                if f"{run}>" in line and " 0 entries" not in line]
    assert len(listings) <= 1, listings  # rank 0's, at its begin


def test_what_a_killed_job_left_elsewhere_is_recovered_there(built, tmp_path):
    process = start([HIPBOARD, "record", "--spool", tmp_path / "node", "-o", tmp_path / "run", "--", built / "alone",
                     "wait"])
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGKILL)
    _, said = process.communicate(timeout=60)
    assert f"is kept in {tmp_path}/node/" in said and f"hipboard recover --spool {tmp_path}/node {tmp_path}/run" in said
    assert not list((tmp_path / "run").iterdir())
    for _ in range(600):  # its process may still be dying
        done = subprocess.run([HIPBOARD, "recover", "--spool", tmp_path / "node", tmp_path / "run"], text=True,
                              capture_output=True, timeout=300)
        if done.returncode == 0:
            break
        time.sleep(0.1)
    [trace] = (tmp_path / "run").glob("*.pt.trace.json")
    assert "MPI_Barrier" in [e["name"] for e in json.loads(trace.read_text())["traceEvents"]]
    assert not list((tmp_path / "node").iterdir())


def test_records_for_a_directory_of_another_machine_s_stay_here(built, tmp_path):
    (tmp_path / "tmp").mkdir()
    process = start([HIPBOARD, "record", "-o", tmp_path / "far/run", "--", built / "alone", "wait"],
                    LD_PRELOAD=str(built / "far.so"), TMPDIR=str(tmp_path / "tmp"))
    assert process.stdout.readline() == "ready\n"
    [place] = (tmp_path / "tmp").glob("hipboard-*-run-*")
    assert len(list(place.glob(".*.hbspool"))) == 1
    assert place.stat().st_mode & 0o777 == 0o700 and not list((tmp_path / "far/run").glob(".*"))
    [child] = open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()
    os.kill(int(child), signal.SIGKILL)  # the program alone: record makes a trace of what it left
    _, said = process.communicate(timeout=60)
    assert f"is kept in {place} of each node" in said and f"hipboard recover {tmp_path}/far/run" in said
    assert len(list((tmp_path / "far/run").glob("*.pt.trace.json"))) == 1
    assert not place.exists()


def test_at_most_four_of_a_node_write_at_a_time(built, tmp_path):
    """Into another machine's directory: four others hold their turns."""
    turns = []
    for i in range(4):
        turns.append(open(f"/dev/shm/hipboard-{os.geteuid()}-writer-{i}", "w"))
        fcntl.flock(turns[-1], fcntl.LOCK_EX)
    process = start([HIPBOARD, "record", "-o", tmp_path / "far/run", "--", built / "alone"], PMI_RANK="1",
                    PMI_SIZE="2", LD_PRELOAD=str(built / "far.so"), TMPDIR=str(tmp_path))
    assert process.stdout.readline() == "ready\n"
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=2)
    assert not list((tmp_path / "far/run").glob("*.pt.trace.json"))
    turns[2].close()
    assert process.wait(timeout=60) == 0
    assert len(list((tmp_path / "far/run").glob("*.pt.trace.json"))) == 1


def test_a_node_s_traces_are_one_file(built, tmp_path):
    """Which is read as the directory that it stands in; digests and the event file stand beside it."""
    command = ["mpirun.openmpi", "-n", "3", HIPBOARD, "record", "--pack", "-o", tmp_path / "run", "--", built / "calls"]
    (tmp_path / "node").mkdir()
    for job in range(2):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300,
                              env=dict(ENVIRONMENT, TMPDIR=str(tmp_path / "node")))
        assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
        assert done.stderr.count("traces are gathered in ") == 1 and f"-pack -o {tmp_path}/run/NODE.hbpack" in done.stderr
        packs = sorted((tmp_path / "run").glob("*.hbpack"))
        assert len(packs) == job + 1 and not list((tmp_path / "run").glob("*.json"))
        assert not [path for path in (tmp_path / "node").iterdir() if path.name.startswith("hipboard-")]
    assert len(list((tmp_path / "run").glob("*tfevents*"))) == 2
    packs[1].unlink()
    (tmp_path / "run/ranks.hbranks").unlink()
    told = subprocess.run([HIPBOARD, "ranks", "--json", tmp_path / "run"], capture_output=True, text=True, timeout=300)
    assert len(json.loads(told.stdout)["ranks"]) == 3, told.stderr
    subprocess.run([HIPBOARD, "unpack", packs[0], "-o", tmp_path / "plain"], check=True, capture_output=True, timeout=300)
    assert [json.loads(path.read_text())["distributedInfo"]["rank"]
            for path in sorted((tmp_path / "plain").glob("*.json"))] == [0, 1, 2]


@pytest.mark.parametrize("ranks, options, packed", [
    (4096, [], False), (4097, [], True), (4096, ["--pack"], True), (1, ["--pack"], False)])
def test_of_more_than_4096_ranks_nodes_write_packs(built, tmp_path, ranks, options, packed):
    """The last rank of such a job, alone on its node, as its launcher tells it."""
    (tmp_path / "node").mkdir()
    job = {"OMPI_COMM_WORLD_RANK": str(ranks - 1), "OMPI_COMM_WORLD_SIZE": str(ranks),
           "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "1", "TMPDIR": str(tmp_path / "node")}
    done = subprocess.run([HIPBOARD, "record", *options, "-o", tmp_path / "run", "--", built / "marked"], text=True,
                          capture_output=True, timeout=300, env=dict(ENVIRONMENT, **job))
    assert done.returncode == 0, done.stderr
    packs, traces = list((tmp_path / "run").glob("*.hbpack")), list((tmp_path / "run").glob("*.json"))
    assert (len(packs), len(traces)) == ((1, 0) if packed else (0, 1))
    assert not list((tmp_path / "node").iterdir())
    told = subprocess.run([HIPBOARD, "ranks", "--json", tmp_path / "run"], capture_output=True, text=True, timeout=300)
    if ranks > 1:
        assert [rank["rank"] for rank in json.loads(told.stdout)["ranks"]] == [ranks - 1], told.stderr


def test_who_is_killed_leaves_the_node_s_traces_to_be_packed(built, tmp_path):
    job = {"OMPI_COMM_WORLD_LOCAL_SIZE": "2", "MPI_LOCALNRANKS": "2", "PMI_SIZE": "2", "TMPDIR": str(tmp_path)}
    killed = start([HIPBOARD, "record", "--pack", "-o", tmp_path / "run", "--", built / "alone", "wait"], PMI_RANK="1",
                   MPI_LOCALRANKID="1", **job)
    assert killed.stdout.readline() == "ready\n"
    other = start([HIPBOARD, "record", "--pack", "-o", tmp_path / "run", "--", built / "alone"], PMI_RANK="0",
                  MPI_LOCALRANKID="0", **job)
    _, said = other.communicate(timeout=60)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=60)
    [staging] = tmp_path.glob("hipboard-*-pack")
    assert f"hipboard recover {staging}; hipboard pack {staging} -o {tmp_path}/run/NODE.hbpack" in said
    for _ in range(600):  # its process may still be dying
        if subprocess.run([HIPBOARD, "recover", staging], capture_output=True, timeout=300).returncode == 0:
            break
        time.sleep(0.1)
    subprocess.run([HIPBOARD, "pack", staging, "-o", tmp_path / "run/NODE.hbpack"], check=True, capture_output=True,
                   timeout=300)
    told = subprocess.run([HIPBOARD, "view", "--json", tmp_path / "run"], capture_output=True, text=True, timeout=300)
    assert len(told.stdout.splitlines()) == 2, told.stdout + told.stderr


def start_rank(rank, built, tmp_path, *arguments, options=()):
    """One of two of a node; what is gathered lies below tmp_path/node."""
    (tmp_path / "node").mkdir(exist_ok=True)
    job = {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": str(rank),
           "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "TMPDIR": str(tmp_path / "node")}
    return subprocess.Popen([str(word) for word in (HIPBOARD, "record", "--pack", *options, "-o", tmp_path / "run", "--",
                                                    built / "marked", *arguments)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=dict(ENVIRONMENT, **job), start_new_session=True)


def packed_ranks(tmp_path):
    """The ranks whose traces are in each pack, oldest pack first."""
    packs = sorted((tmp_path / "run").glob("*.hbpack"), key=lambda path: path.stat().st_mtime_ns)
    return [sorted(int(re.search(r"_(\d+)(-\d+)?\.\d+\.pt", name)[1]) for name in zipfile.ZipFile(pack).namelist())
            for pack in packs]


def gathered(tmp_path):
    return [path for path in (tmp_path / "node").iterdir() if path.name.endswith("-pack")]


def test_a_killed_rank_spoils_no_later_job(built, tmp_path):
    killed = start_rank(1, built, tmp_path, "wait")
    assert killed.stdout.readline() == "ready\n"
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=60)
    _, said = start_rank(0, built, tmp_path).communicate(timeout=60)
    assert packed_ranks(tmp_path) == [[0]]
    [staging] = gathered(tmp_path)  # with what the killed one left
    advice = f"hipboard recover {staging}; hipboard pack {staging} -o {tmp_path}/run/NODE.hbpack"
    assert said.count(advice) == 2, said
    for job in 1, 2:
        last = start_rank(1, built, tmp_path, "wait")
        assert last.stdout.readline() == "ready\n"
        start_rank(0, built, tmp_path).communicate(timeout=60)
        assert len(packed_ranks(tmp_path)) == job  # the other one still runs
        last.communicate(timeout=60)
        assert packed_ranks(tmp_path)[job:] == [[0, 1]]


def test_jobs_that_were_killed_are_packed_with_the_next(built, tmp_path):
    last = start_rank(1, built, tmp_path, "wait")
    assert last.stdout.readline() == "ready\n"
    start_rank(0, built, tmp_path).communicate(timeout=60)
    os.killpg(last.pid, signal.SIGKILL)
    last.communicate(timeout=60)
    assert packed_ranks(tmp_path) == []
    start_rank(1, built, tmp_path).communicate(timeout=60)
    assert packed_ranks(tmp_path) == [[0, 1]]


def test_a_rank_whose_program_is_missing_packs_as_well(tmp_path):
    process = start_rank(0, tmp_path, tmp_path)
    process.communicate(timeout=60)
    assert process.returncode == 127 and gathered(tmp_path) == [] and packed_ranks(tmp_path) == []


@pytest.mark.parametrize("options", [[], ["--spool", "node/spools"]])
def test_what_goes_on_leaves_its_trace_where_it_is_said(built, tmp_path, options):
    options = [word.replace("node", f"{tmp_path}/node") for word in options]
    process = start_rank(0, built, tmp_path, tmp_path / "end", options=options)
    _, said = process.communicate(timeout=60)
    packed = packed_ranks(tmp_path)
    (tmp_path / "end").touch()
    assert process.returncode == 0 and packed == [[0]]
    commands = re.search(r"(hipboard recover \S.*?); (hipboard pack (\S+) -o \S+)$", said.splitlines()[-1])
    assert commands, said
    for _ in range(600):
        if list(Path(commands[3]).glob("*.json")):
            break
        time.sleep(0.1)
    for command in commands[1], commands[2]:
        done = subprocess.run([HIPBOARD, *command.split()[1:]], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0 or "no killed process left records" in done.stderr, done.stderr
    assert packed_ranks(tmp_path) == [[0], [0]]


def test_64_ranks_leave_64_whole_traces_and_one_message(built, tmp_path):
    """Started at once, as a launcher does; of MPI each has only itself."""
    processes = [start([HIPBOARD, "record", "--spool", tmp_path / "node", "-o", tmp_path / "run", "--", built / "alone"],
                       PMI_RANK=str(rank), PMI_SIZE="64") for rank in range(64)]
    said = [process.communicate(timeout=300)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 64
    assert [rank for rank, text in enumerate(said) if text] == [0] and said[0].count("\n") == 1
    found = sorted((tmp_path / "run").glob("*.pt.trace.json"))
    assert [path.name.split(".")[0].split("_")[-1] for path in found] == [f"{rank:02}" for rank in range(64)]
    assert [json.loads(path.read_text())["distributedInfo"]["rank"] for path in found] == list(range(64))
    assert not [path for path in (tmp_path / "run").iterdir() if path.name.startswith(".")]
