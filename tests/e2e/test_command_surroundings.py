# SPDX-License-Identifier: MIT
"""Commands and what surrounds them: an MPI, a HIP runtime or none, temporary directories, addresses, terminals."""
import contextlib
import gzip
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time

import pytest

import made_ranks
from support import BUILD
from test_page_whole import made
from test_terminal import on_terminal

HIPBOARD = BUILD / "tools/hipboard/hipboard"
DIGEST = BUILD / "tools/hipboard/hipboard-digest"
PLAIN = {key: value for key, value in os.environ.items()
         if not key.startswith(("HIPBOARD_", "OMPI_", "PMI", "SLURM_", "MPI_")) and key not in ("RANK", "WORLD_SIZE", "TMPDIR")}


def ask(*words, env=(), cwd=None, status=0):
    done = subprocess.run([HIPBOARD, *map(str, words)], capture_output=True, text=True, timeout=600, env=PLAIN | dict(env), cwd=cwd,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == status, done.stderr
    return done


# ---- several processes

# An MPI of one process that writes down what it sends, of which another one is told what it receives. It tells what it is given.
FAKE_MPI = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef OPEN_MPI
char ompi_mpi_comm_world[8], ompi_mpi_byte[8];
#define WORLD (uintptr_t)ompi_mpi_comm_world
#define BYTE (uintptr_t)ompi_mpi_byte
#define NO_STATUS 0
#else
#define WORLD 0x44000000
#define BYTE 0x4c00010d
#define NO_STATUS 1
#endif
static FILE *stream;
static int number(const char *name)
{
    return getenv(name) ? atoi(getenv(name)) : 0;
}
int MPI_Init(int *argc, char ***argv)
{
    if (argc || argv) abort();
    return number("FAKE_INIT");
}
int MPI_Comm_rank(uintptr_t world, int *rank)
{
    *rank = number("FAKE_RANK");
    return world != WORLD;
}
int MPI_Comm_size(uintptr_t world, int *size)
{
    *size = number("FAKE_SIZE");
    return world != WORLD;
}
int MPI_Send(const void *bytes, int count, uintptr_t type, int to, int tag, uintptr_t world)
{
    if (!stream) stream = fopen(getenv("FAKE_STREAM"), "w");
    if (type != BYTE || to != 0 || tag != 7 || world != WORLD) return 1;
    fwrite(bytes, 1, (size_t)count, stream);
    fflush(stream);
    return number("FAKE_SEND");
}
int MPI_Recv(void *bytes, int count, uintptr_t type, int from, int tag, uintptr_t world, uintptr_t status)
{
    if (!stream) stream = fopen(getenv("FAKE_STREAM"), "r");
    if (type != BYTE || from != 1 || tag != 7 || world != WORLD || status != NO_STATUS || !stream) return 1;
    return fread(bytes, 1, (size_t)count, stream) != (size_t)count;
}
int MPI_Finalize(void)
{
    fputs("finalized\n", stderr);
    return 0;
}
"""
LIBRARIES = {"libmpi.so.40": "-DOPEN_MPI", "libmpich.so.12": "", "libmpi.so.12": "", "libmpi_cray.so.12": ""}


def build_mpi(directory, *names, without=""):
    """The libraries of these names; the others are there and none."""
    directory.mkdir()
    for library, define in LIBRARIES.items():
        if library in names:
            source = FAKE_MPI.replace(f"int {without}(", f"int no_{without}(") if without else FAKE_MPI
            subprocess.run(["cc", "-x", "c", "-", "-shared", "-fPIC", *define.split(), "-o", directory / library], input=source, text=True,
                           check=True)
        else:
            (directory / library).write_text("")
    return {"LD_LIBRARY_PATH": str(directory)}


def job(rank, size=2, launcher="open"):
    names = {"open": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), "pmi": ("PMI_RANK", "PMI_SIZE"),
             "torchrun": ("RANK", "WORLD_SIZE"), "slurm": ("SLURM_PROCID", "SLURM_NTASKS")}[launcher]
    return {names[0]: str(rank), names[1]: str(size), "FAKE_RANK": str(rank), "FAKE_SIZE": str(size)} | (
        {"SLURM_STEP_ID": "0"} if launcher == "slurm" else {})


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    path = tmp_path_factory.mktemp("ranks") / "run"
    made_ranks.write(path, 6, late=4)
    return path, ask("ranks", path).stdout


@pytest.mark.parametrize("library, launcher", [("libmpi.so.40", "open"), ("libmpich.so.12", "pmi"), ("libmpi.so.12", "pmi"),
                                               ("libmpi_cray.so.12", "pmi"), ("libmpich.so.12", "open"), ("libmpi.so.40", "pmi")])
def test_processes_read_a_part_each_by_the_mpi_that_is_there(library, launcher, ranks, tmp_path):
    path, whole = ranks
    mpi = build_mpi(tmp_path / "lib", library) | {"FAKE_STREAM": str(tmp_path / "stream")}
    done = ask("ranks", path, env=mpi | job(1, launcher=launcher))
    assert (done.stdout, done.stderr) == ("", "finalized\n")
    stream = (tmp_path / "stream").read_bytes()
    assert len(stream) == 8 + int.from_bytes(stream[:8], "little") > 100
    done = ask("ranks", path, env=mpi | job(0, launcher=launcher))
    assert (done.stdout, done.stderr) == (whole, "finalized\n")


def test_a_part_that_does_not_come_is_missed(ranks, tmp_path):
    path, _ = ranks
    mpi = build_mpi(tmp_path / "lib", "libmpi.so.40") | {"FAKE_STREAM": str(tmp_path / "stream")}
    for stream in None, b"", bytes(8), (5).to_bytes(8, "little") + b"abc", (3).to_bytes(8, "little") + b"abc":
        if stream is not None:
            (tmp_path / "stream").write_bytes(stream)
        done = ask("ranks", path, env=mpi | job(0), status=1)
        assert "hipboard ranks: process 1: its part is missing\n" in done.stderr
        assert "\nMissing: 3 of 6 ranks: 1-2, 5\n" in done.stdout
    assert ask("ranks", path, env=mpi | job(1) | {"FAKE_SEND": "1"}, status=1).stdout == ""


ALONE = "hipboard ranks: {}: rank 0 does all the work\n"


@pytest.mark.parametrize("libraries, without, env, why, finalized", [
    ((), "", {}, "no MPI that is known was found", False),
    (("libmpi.so.40",), "MPI_Recv", {}, "no MPI that is known was found", False),
    (("libmpich.so.12",), "MPI_Init", {}, "no MPI that is known was found", False),
    (("libmpi.so.40",), "", {"FAKE_INIT": "1"}, "MPI does not begin", False),
    (("libmpi.so.40",), "", {"FAKE_SIZE": "1"}, "the launcher is another MPI's than the library", True)])
def test_without_an_mpi_the_first_rank_does_all(libraries, without, env, why, finalized, ranks, tmp_path):
    path, whole = ranks
    mpi = build_mpi(tmp_path / "lib", *libraries, without=without)
    done = ask("ranks", path, env=mpi | job(0) | env)
    assert (done.stdout, done.stderr) == (whole, ("finalized\n" if finalized else "") + ALONE.format(why))
    done = ask("ranks", path, env=mpi | job(1) | env)
    assert (done.stdout, done.stderr) == ("", "finalized\n" if finalized else "")


@pytest.mark.parametrize("env, together", [
    (job(1, launcher="torchrun"), False), (job(1, launcher="slurm"), False), (job(0, 1), False), ({}, False),
    (job(1, launcher="slurm") | {"SLURM_STEP_NUM_TASKS": "2"}, True), (job(1, 2), True)])
def test_who_is_alone_asks_no_mpi(env, together, ranks, tmp_path):
    """torchrun's processes have none, and what Slurm tells a batch script is not of several."""
    path, whole = ranks
    mpi = build_mpi(tmp_path / "lib", *LIBRARIES) | {"FAKE_STREAM": str(tmp_path / "stream")}
    done = ask("ranks", path, env=mpi | env)
    assert (done.stdout, done.stderr) == (("", "finalized\n") if together else (whole, ""))
    assert ask("ranks", "--part", "1/1", "-o", tmp_path / "p.hbranks", path, env=mpi | env).stderr == ""


# ---- digests, as recorded ranks have them made

def test_digests_are_kept_where_they_are_wanted(ranks, tmp_path):
    path, whole = ranks
    files = sorted(path.glob("*.json"))
    own = tmp_path / "own"
    own.mkdir()
    other = tmp_path / "other"
    other.mkdir()
    for i, file in enumerate(files):
        ((own, other)[i % 2] / file.name).write_bytes(file.read_bytes())

    def digest(directory, *traces, cwd=None):
        text = "".join(f"{line}\n" for line in (directory, *traces))
        return subprocess.run([DIGEST], input=text, capture_output=True, text=True, timeout=600, cwd=cwd)

    job = tmp_path / "job"
    job.mkdir()
    done = digest(job, *sorted(own.iterdir()), *sorted(other.iterdir()))
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert [p.name for p in job.iterdir()] == ["ranks.hbranks"] and ask("ranks", job / "ranks.hbranks").stdout == whole
    done = digest("", *sorted([*own.iterdir(), *other.iterdir()], key=lambda p: p.name))
    assert (done.returncode, done.stdout) == (0, "done\n")
    for directory in own, other:  # each beside its traces, also where they come by turns
        assert "3 traces" in ask("ranks", directory / "ranks.hbranks").stdout
    (own / "ranks.hbranks").unlink()
    done = digest("", "one.json", cwd=own)
    assert (done.returncode, done.stdout) == (0, "done\n")
    done = digest("", next(own.glob("*.json")).name, cwd=own)
    assert (done.returncode, done.stdout) == (0, "done\n") and (own / "ranks.hbranks").exists()
    done = digest(tmp_path / "none", files[0])
    assert done.returncode == 1 and "none" in done.stdout
    assert subprocess.run([DIGEST], input="", capture_output=True, text=True, timeout=600).returncode == 1


# ---- HIP

def test_without_a_runtime_it_is_said_why(tmp_path):
    for version in ".7", ".6", ".5", "":
        (tmp_path / f"libamdhip64.so{version}").write_text("")
    text = ask("info", env={"LD_LIBRARY_PATH": str(tmp_path), "HIP_VISIBLE_DEVICES": "", "HIPBOARD_HIP_BACKEND": ""}).stdout
    version = ask("--version").stdout.split()[1]
    lines = text.splitlines()
    assert lines[:2] == [f"hipboard:     {version}", "HIP runtime:  none (libamdhip64 can't be loaded)"]
    assert lines[2].startswith("Devices:      none; ") and lines[3].startswith("/dev/kfd:     ")
    assert "Environment:" in lines[4] and "HIP_VISIBLE_DEVICES=" in lines[4]
    assert text.count("not usable: ") == len(re.findall(r"^  \S", text, re.M)) and "would use" not in text
    assert "\nHIP is not captured: " in text and text.endswith("; what a program marks itself is recorded all the same\n")
    hidden = {name: "0" for name in ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")}
    text = ask("info", env={"LD_LIBRARY_PATH": str(tmp_path)} | hidden).stdout
    assert "\nEnvironment:  ROCR_VISIBLE_DEVICES=0\n              HIP_VISIBLE_DEVICES=0\n" in text or (
        "\nEnvironment:  HIP_VISIBLE_DEVICES=0\n              ROCR_VISIBLE_DEVICES=0\n" in text)
    plain = {key: value for key, value in PLAIN.items() if "VISIBLE" not in key and "ORDINAL" not in key}
    done = subprocess.run([HIPBOARD, "info"], capture_output=True, text=True, timeout=600, env=plain)
    assert "\nEnvironment:  no variable hides devices\n" in done.stdout


IMPORTS = ["double cblas_ddot(int n, const double *x, int a, const double *y, int b)", "double mine(int n, const double *x)",
           "double cblas_dnrm2(int n, const double *x, int a)"]
BODY = " { return n + x[0]; }"
CALLS = "int main(void) { double x[] = {0}; return (int)(cblas_ddot(0, x, 1, x, 1) + mine(0, x) + cblas_dnrm2(0, x, 1)); }"


@pytest.mark.parametrize("own", [False, True])
def test_what_a_library_imports_is_listed(own, tmp_path):
    path, table, library = tmp_path / "used", tmp_path / "own.ops", tmp_path / "libused.so"
    theirs = "".join(call + BODY for call in IMPORTS[:3 - own])
    ours = "; ".join(IMPORTS) + (BODY if own else ";")
    for flags, source in (["-shared", "-fPIC", "-o", library], theirs), (["-o", path, "-x", "none", library], ours + CALLS):
        subprocess.run(["cc", "-x", "c", "-", *flags], input=source, text=True, check=True)
    table.write_text("# of mine\nmine | n | | | name=their_name\n")
    lines = ask("info", "--ops", path, "--table", table).stdout.splitlines()
    rows = {line.split()[0]: line for line in lines}
    shown = "  (linked in statically: its calls are not seen)" if own else ""
    assert re.fullmatch(rf"cblas_dnrm2 {{22}}cblas_dnrm2 {{22}}blas\.ops:\d+{re.escape(shown)}", rows["cblas_dnrm2"]), rows
    assert re.fullmatch(r"cblas_ddot {23}cblas_ddot {23}blas\.ops:\d+", rows["cblas_ddot"])
    assert rows["mine"] == f"{'mine':32} {'their_name':32} own.ops:2" and len(rows) == 3
    told = json.loads(ask("info", "--ops", path, "--json", "--table", table).stdout)
    assert [(row["symbol"], row["name"], row["linked_in"]) for row in told] == [
        (line.split()[0], "their_name" if line.startswith("mine") else line.split()[0], "linked in" in line) for line in lines]
    assert [row["line"] for row in told] == [int(re.search(r"ops:(\d+)", line)[1]) for line in lines]
    assert all(row["table"].startswith("/") and row["table"].endswith(".ops") for row in told)


def test_without_its_library_nothing_compressed_by_zstd_is_read(tmp_path):
    (tmp_path / "libzstd.so.1").write_text("")
    for name in "t.json", "t.pt.trace.json":
        (tmp_path / name).write_bytes(bytes.fromhex("28b52ffd") + bytes(20))
        done = ask("view", tmp_path / name, env={"LD_LIBRARY_PATH": str(tmp_path)}, status=1)
        assert done.stderr == (f"hipboard view: {tmp_path / name}: compressed by zstd, and there is no libzstd.so.1: install it "
                               "(Debian: libzstd1), or unpack the file by zstd -d\n")


# ---- temporary directories

def test_what_a_part_takes_is_gone_afterwards(tmp_path):
    (tmp_path / "t.pt.trace.json").write_text(json.dumps(made()))
    (tmp_path / "tmp").mkdir()
    for words, status in ((["--steps", "1:2"], 0), (["--steps", "8:9"], 1)):
        ask("report", *words, "-o", "r.html", "t.pt.trace.json", cwd=tmp_path, env={"TMPDIR": str(tmp_path / "tmp")}, status=status)
        assert not list((tmp_path / "tmp").iterdir())
    done = ask("report", "--steps", "1:2", "-o", "s.html", "t.pt.trace.json", cwd=tmp_path, env={"TMPDIR": str(tmp_path / "none")},
               status=1)
    assert done.stderr.startswith(f"hipboard report: cannot create a directory like {tmp_path}/none/hipboard-cut.")
    assert done.stderr.endswith(": No such file or directory\n") and not (tmp_path / "s.html").exists()
    assert ask("report", "--steps", "1:2", "-o", "s.html", "t.pt.trace.json", cwd=tmp_path, env={"TMPDIR": ""}).stdout == "s.html\n"
    assert "t.pt.trace" in (tmp_path / "s.html").read_text()


# ---- how many

def test_limits_may_be_given_so_often(ranks, tmp_path):
    """Of what is kept of a command line in lists."""
    path, _ = ranks
    (tmp_path / "t.json").write_text(json.dumps(made()))
    limit = ["--fail-if", "cpu > 900s"]
    ask("compare", *limit * 64, "t.json", "t.json", cwd=tmp_path)
    assert ask("compare", *limit * 65, "t.json", "t.json", cwd=tmp_path, status=2).stderr == (
        "hipboard compare: --fail-if 'cpu > 900s': too many limits; see `hipboard compare --help`\n")
    limit = ["--fail-if", "late_ranks > 99"]
    ask("ranks", *limit * 32, path)
    assert ask("ranks", *limit * 33, path, status=2).stderr == (
        "hipboard ranks: --fail-if 'late_ranks > 99': too many; see `hipboard ranks --help`\n")
    code = ["--code", "none.co"]
    assert "cannot open 'none.co'" in ask("view", "--view", "classes", *code * 16, "t.json", cwd=tmp_path, status=1).stderr
    assert "there are too many" in ask("view", "--view", "classes", *code * 17, "t.json", cwd=tmp_path, status=2).stderr


def test_three_defects_of_a_file_are_told(tmp_path):
    for count in range(1, 6):
        path = tmp_path / f"{count}.json"
        names = ["a\\tb" if i < count else "ab" for i in range(6)]
        path.write_text('{"traceEvents": [' + ", ".join(
            f'{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 1, "tid": 1, "ts": {i}, "dur": 1}}'.replace("\\t", "\t")
            for i, name in enumerate(names)) + "]}")
        lines = ask("steps", path).stderr.splitlines()
        assert lines == [line for line in lines if line.startswith(f"hipboard steps: {path}: ")]
        assert sum(line.endswith(": control character in a string") for line in lines) == min(count, 3)
        assert (lines[-1] == f"hipboard steps: {path}: and more") == (count > 3) and len(lines) == min(count, 4)


def test_more_traces_than_anybody_looks_at_are_summed_up(tmp_path):
    """Of more than 32: but not by a rank, without a limit of rows, nor for a program."""
    words = ["view", "--view", "steps", tmp_path / "run"]
    for count, many in (32, False), (33, True):
        made_ranks.write(tmp_path / "run", count, late=3)
        done = ask(*words)
        assert (f" in {count} traces\n" in done.stdout) == many and done.stderr == ""
        assert done.stdout.endswith("\n--rank N shows one rank, --top 0 each trace.\n") == many
        assert done.stdout.count(", worker ") == (0 if many else count)
        for others in ["--rank", "3"], ["--top", "0"], ["--csv"], ["--json"]:
            assert " traces\n" not in ask(*words, *others).stdout
        ask("ranks", "-o", tmp_path / "run/ranks.hbranks", tmp_path / "run")
        told = f"{tmp_path}/run/ranks.hbranks has digests of the ranks, which are read at once\n"
        for command, tells in (["steps"], True), (["view"], True), (["stacks", "--scopes"], False), (["memory"], False):
            assert (told in ask(*command, tmp_path / "run").stderr) == (many and tells), command
        (tmp_path / "run/ranks.hbranks").unlink()


def test_kinds_of_what_is_odd_are_told_apart_up_to_a_limit(tmp_path):
    """Three of each, then how many more; all of them where that is asked for."""
    events = [{"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 1, "tid": 1, "ts": 10 * i, "dur": 1,
               "args": {"External id": 1, "correlation": i}} for i in range(5)]
    for count, more in (1, None), (3, None), (4, 1), (5, 2):
        (tmp_path / "h_1.1.pt.trace.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": [
            {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 0, "dur": 99, "args": {"External id": 1}}, *events[:count]]}))
        text = ask("check", tmp_path).stdout
        times = f"{count} times " if count > 1 else ""
        assert f"  wrong: {times}calls of a category that the plugin ignores: operators have no device time\n    event 1 at byte " in text
        assert text.count("hipLaunchKernel") == min(count, 3) and (f"    and {more} more\n" in text) == (more is not None)
        text = ask("check", "--all", tmp_path).stdout
        assert text.count("hipLaunchKernel") == count and " more\n" not in text
        assert ask("check", "--json", tmp_path).stdout.count('"name": "hipLaunchKernel"') == count


# ---- defaults

def test_packs_and_what_becomes_of_them_have_their_names_here(tmp_path):
    """Without -o: the last part of a path, in the working directory."""
    (tmp_path / "in/runs").mkdir(parents=True)
    (tmp_path / "in/runs/a.1.pt.trace.json").write_text(json.dumps(made()))
    for path, name in ("in/runs", "runs"), ("in/runs/", "runs"), ("in/runs//", "runs"), ("in", "in"), (".", "runs"), ("in/.", "runs"):
        assert f" files -> {name}.hbpack, " in ask("pack", path, cwd=tmp_path).stdout
        (tmp_path / f"{name}.hbpack").rename(tmp_path / "in/kept")
    for name, directory in ("runs.hbpack", "runs"), ("a.b.zip", "a.b"), ("plain", "plain.unpacked"), (".hidden", ".hidden.unpacked"):
        (tmp_path / "in" / name).write_bytes((tmp_path / "in/kept").read_bytes())
        assert ask("unpack", f"in/{name}", cwd=tmp_path).stdout.endswith(f" -> {directory}\n")
        assert (tmp_path / directory).is_dir()
    ask("report", "in/runs", cwd=tmp_path)
    assert (tmp_path / "report.html").exists()


def test_what_was_imported_is_replaced_where_that_is_asked_for(tmp_path):
    (tmp_path / "t.pt.trace.json").write_text(json.dumps(made()))
    ask("export", "t.pt.trace.json", "-o", "r.db", cwd=tmp_path)
    ask("import", "-o", "log", "r.db", cwd=tmp_path)
    [path] = (tmp_path / "log").iterdir()
    done = ask("import", "-o", "log", "r.db", cwd=tmp_path, status=1)
    assert (done.stdout, done.stderr) == ("", f"hipboard import: r.db: 'log/{path.name}' exists and is not overwritten\n")
    path.write_text("")
    assert f" -> log/{path.name}\n" in ask("import", "-o", "log", "--force", "r.db", cwd=tmp_path).stdout
    assert path.stat().st_size > 0 and len(list((tmp_path / "log").iterdir())) == 1


def test_a_request_says_what_was_asked_for(tmp_path):
    def request(*words):
        began = time.time() * 1000
        ask("trigger", "--all", tmp_path, *words)
        told = dict(line.split("=", 1) for line in (tmp_path / "hipboard.request").read_text().splitlines() if "=" in line)
        return told, int(told["PROFILE_START_TIME"]) - began

    told, wait = request()
    assert told["PROFILE_START_ITERATION_ROUNDUP"] == "10" and 10000 <= wait < 20000
    told, wait = request("--steps", 5, "--roundup", 7, "--delay", "60s", "-o", "/x/t.json", "--reason", "because")
    assert (told["ACTIVITIES_ITERATIONS"], told["PROFILE_START_ITERATION_ROUNDUP"]) == ("5", "7") and 60000 <= wait < 70000
    assert told["ACTIVITIES_LOG_FILE"] == "/x/t.json" and "because" in str(told)
    told, wait = request("--seconds", "1500ms", "--delay", "30s")
    assert told["ACTIVITIES_DURATION_MSECS"] == "1500" and 30000 <= wait < 40000
    for seconds, ms in ("1e-9", "1"), ("1us", "1"), ("1ms", "1"), ("1.1ms", "2"):
        assert request("--seconds", seconds)[0]["ACTIVITIES_DURATION_MSECS"] == ms


# ---- addresses

@contextlib.contextmanager
def served(*words, preexec_fn=None):
    with subprocess.Popen([HIPBOARD, "serve", "--port", "0", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, env=PLAIN, preexec_fn=preexec_fn) as process:
        try:
            yield process
        finally:
            process.kill()  # if it is still there


def answer(host, port, path, token=None, name=None):
    connection = http.client.HTTPConnection(host, port, timeout=600)
    headers = {"X-Hipboard-Token": token} if token else {}
    connection.request("GET", path, headers=headers | ({"Host": name} if name else {}))
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    return reply.status, body


@pytest.mark.parametrize("host, shown, at, end", [
    ("127.0.0.1", "127.0.0.1", "127.0.0.1", "SIGTERM"), ("::1", "[::1]", "::1", "SIGINT"), ("0.0.0.0", None, "127.0.0.1", "SIGHUP"),
    ("::", None, "::1", "SIGTERM"), ("localhost", "localhost", None, "SIGINT")])
def test_the_address_is_that_which_others_may_ask(host, shown, at, end, tmp_path):
    (tmp_path / "t.pt.trace.json").write_text(json.dumps(made()))
    with served("--host", host, tmp_path) as process:
        line = process.stdout.readline()
        if not line and ":" in host:
            pytest.skip(process.stderr.read())
        found = re.fullmatch(r"http://(\[[0-9a-f:]+\]|[^:]+):(\d+)/#token=([0-9a-f]{32})\n", line)
        assert found and found[1] == (shown or socket.gethostname()), line
        if at:
            port = int(found[2])
            assert answer(at, port, "/hb/about", found[3])[0] == 200
            assert answer(at, port, "/hb/about")[0] == answer(at, port, "/hb/about", found[3][:-1])[0] == 401
            assert answer(at, port, "/hb/nothing", found[3])[0] == 404
            assert answer(at, port, "/hb/operators", found[3]) == (400, b"parameter trace is missing\n")
            assert answer(at, port, "/hb/about", found[3], name=f"{socket.gethostname()}:1")[0] == 200
        process.send_signal(getattr(signal, end))
        assert process.wait(600) == 0


def test_what_the_caller_ignores_ends_no_server(tmp_path):
    """As nohup does, and a shell without a terminal for what it starts in the background."""
    (tmp_path / "t.pt.trace.json").write_text(json.dumps(made()))
    ignored = signal.SIGHUP, signal.SIGINT
    with served(tmp_path, preexec_fn=lambda: [signal.signal(number, signal.SIG_IGN) for number in ignored]) as process:
        _, port, token = re.split(r":(?=\d)|/#token=", process.stdout.readline().strip())
        for number in ignored:
            process.send_signal(number)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.3)
            assert answer("127.0.0.1", int(port), "/hb/about", token)[0] == 200
        process.terminate()
        assert process.wait(600) == 0


def test_each_start_has_a_token_of_its_own(tmp_path):
    tokens = set()
    for _ in range(2):
        with served(tmp_path) as process:
            tokens.add(process.stdout.readline().split("token=")[1])
            process.terminate()
            assert process.wait(600) == 0
    assert len(tokens) == 2


PROTECTED = {
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data: blob:; "
                               "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"}


def test_each_answer_has_its_headers(tmp_path):
    (tmp_path / "t.1.pt.trace.json").write_text(json.dumps(made()))
    with served(tmp_path) as process:
        _, port, token = re.split(r":(?=\d)|/#token=", process.stdout.readline().strip())

        def asked(path, method="GET", body=None, **headers):
            connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=600)
            connection.request(method, path, body=body, headers={"X-Hipboard-Token": token} | {
                name.replace("_", "-"): value for name, value in headers.items()})
            reply = connection.getresponse()
            content = reply.read()
            connection.close()
            own = {name: value for name, value in reply.headers.items() if name not in ("Date", "Connection", "Content-Length")}
            assert all(own.pop(name) == value for name, value in PROTECTED.items()), path
            return reply.status, own, content

        json_type, text = {"Content-Type": "application/json; charset=utf-8"}, {"Content-Type": "text/plain; charset=utf-8"}
        status, headers, small = asked("/hb/about", Accept_Encoding="gzip")
        assert status == 200 and len(small) < 1024 and re.fullmatch(r'"[0-9a-f]{16}"', headers["ETag"])
        assert headers == json_type | {"Cache-Control": "private, no-cache", "ETag": headers["ETag"]}
        [trace] = [t["id"] for t in json.loads(small)["traces"]]
        operators = f"/hb/overview?trace={trace.replace('/', '%2F')}"
        plain = asked(operators)
        status, headers, packed = asked(operators, Accept_Encoding="deflate, gzip")
        assert len(plain[2]) >= 1024 > 0 and gzip.decompress(packed) == plain[2]
        assert headers == plain[1] | {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        assert asked(operators, If_None_Match=headers["ETag"]) == (304, plain[1], b"")
        assert asked("/hb/nothing") == (404, text | {"Cache-Control": "no-store"}, b"no route 'hb/nothing'\n")
        assert asked("/hb/about", body=b"x") == (400, text | {"Cache-Control": "no-store"}, b"No body is wanted.\n")
        assert asked("/hb/about", "POST") == (405, text | {"Cache-Control": "no-store", "Allow": "GET, HEAD"},
                                              b"Traces can only be read here: GET and HEAD.\n")
        assert asked("/hb/about", X_Hipboard_Token="x")[::2] == (
            401, b"Open the address that hipboard serve printed: it ends with #token=... and is another one after each start.\n")
        process.terminate()
        assert process.wait(600) == 0


def test_what_cannot_be_listened_at(tmp_path):
    (tmp_path / "t.pt.trace.json").write_text(json.dumps(made()))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = ask("serve", "--port", port, tmp_path, status=1)
        assert done.stderr == (f"hipboard serve: cannot listen at port {port} of 127.0.0.1: Address already in use; --port names another "
                               "one, and --port 0 takes any\n")
    done = ask("serve", "--host", "256.1.1.1", tmp_path, status=1)
    assert re.fullmatch(r"hipboard serve: 256\.1\.1\.1: .+\n", done.stderr)


# ---- terminals

def test_words_for_people_have_their_styles_on_a_terminal(tmp_path):
    path = tmp_path / "t.pt.trace.json"
    path.write_text(json.dumps(made()))
    for words, bold in ((["view", path], [b"Average step ", b"GPU time\x1b[0m: from"]), (["steps", path], [b"  "]),
                        (["memory", path], [b"    Bytes"]),
                        (["pack", "--redact", "--dry-run", "-o", tmp_path / "p.hbpack", path], [b"Replaced by"])):
        _, styled = on_terminal(*words)
        for text in bold:
            assert b"\x1b[1m" + text in styled, words
        assert styled.count(b"\x1b[1m") == styled.count(b"\x1b[0m") > 0
        for env in {"NO_COLOR": "1"}, {"TERM": "dumb"}:
            _, unstyled = on_terminal(*words, env=env)
            assert b"\x1b" not in unstyled and re.sub(rb"\x1b\[[01]m", b"", styled) == unstyled
    for columns in 80, 100, 200:
        _, text = on_terminal("view", "--view", "operator", path, env={"COLUMNS": str(columns), "NO_COLOR": "1"})
        widest = max(len(line) for line in text.decode().splitlines())
        assert widest <= columns
