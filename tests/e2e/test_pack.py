# SPDX-License-Identifier: MIT
"""Log directories as one file: whole, read as they are, and without what should not be told."""
import gzip
import io
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import time
import zipfile

import pytest
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event

import made_ranks
import rocpd_made
from server import TensorBoard
from support import BUILD, ROOT, run

HIPBOARD = BUILD / "tools/hipboard/hipboard"
needs_sqlite = pytest.mark.skipif(b"libsqlite3" not in (BUILD / "src/analysis/libhipboard-analysis.so").read_bytes(),
                                  reason="built without libsqlite3")
SECRETS = {
    "host": "trainhost42",
    "user": "mallory",
    "directory": "/home/mallory/projects/moonshot",
    "token": "hf_" + "aZ3kQ9" * 6,
    "password": "correct-horse",
    "chance": "pY7wTq2LmX9vB4nR8sKd3FhG",
    "environment": "quite-ordinary-value",
    "address": "10.20.30.40",
    "mail": "mallory@example.org",
}


def planted(trace):
    """The trace with a secret in each place where programs leave them."""
    trace = dict(trace)
    trace["host_name"] = SECRETS["host"]
    trace["environment"] = {"SETTING": SECRETS["environment"], "RANK": "0"}
    trace["command"] = (f"python {SECRETS['directory']}/train.py --password {SECRETS['password']} "
                        f"--hub {SECRETS['token']} --master {SECRETS['address']}:29500")
    trace["contact"] = SECRETS["mail"]
    trace["key"] = SECRETS["chance"]
    for i, event in enumerate(e for e in trace["traceEvents"] if e.get("cat") == "cpu_op"):
        event.setdefault("args", {})["Call stack"] = (
            f"{SECRETS['directory']}/model_{i % 3}.py(12): forward;"
            f"/usr/lib/python3.11/threading.py(1): run")
    return trace


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs with traces, plain and gzipped, event files, a text and something unknown."""
    from torch.utils.tensorboard import SummaryWriter
    logdir = tmp_path_factory.mktemp("shared") / "runs"
    for name, pid in (("base", 11), ("lr=0.1", 12)):
        with gzip.open(ROOT / "tests/data/mi250_minitoy.json.gz", "rt") as file:
            text = json.dumps(planted(json.load(file)))
        (logdir / name).mkdir(parents=True)
        path = logdir / name / f"{SECRETS['host']}_{pid}.1795256296196340551.pt.trace.json"
        path.write_text(text)
        run(HIPBOARD, "convert", path, "-o", logdir / name, "--force", "--gzip")
        path.unlink()
        writer = SummaryWriter(str(logdir / name))
        writer.add_text("notes", f"on {SECRETS['host']}, by {SECRETS['mail']}")
        writer.add_scalar("loss", 0.25, 3)
        writer.add_hparams({"data": SECRETS["directory"] + "/set.bin", "lr": 0.1}, {"acc": 0.5},
                           run_name=".")
        writer.close()
        for file in (logdir / name).glob("events.*"):  # the host is this machine's
            kind, stamp = file.name.split(".")[2:4]
            file.rename(file.with_name(f"events.out.{kind}.{stamp}.{SECRETS['host']}.{pid}."
                                       + file.name.rsplit(".", 1)[1]))
        (logdir / name / "profile.stacks").write_text(f"{SECRETS['directory']}/a.py(3): f 12\n")
    (logdir / "core.bin").write_bytes(b"\x00" + SECRETS["token"].encode())
    (logdir / ".hidden").write_text("x")
    return logdir


def files(directory):
    return {str(path.relative_to(directory)): path.read_bytes()
            for path in sorted(directory.rglob("*")) if path.is_file()}


def test_every_byte_comes_back_and_any_unzip_reads_it(runs, tmp_path):
    pack = tmp_path / "runs.hbpack"
    said = json.loads(run(HIPBOARD, "pack", runs, "-o", pack, "--json"))
    kept = {name: data for name, data in files(runs).items() if name != ".hidden"}
    assert sorted(member["name"] for member in said["files"]) == sorted(kept)
    assert said["bytes"] == pack.stat().st_size and not said["redactions"]
    with zipfile.ZipFile(pack) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == kept
        # what is compressed is not compressed again
        assert {name for name in kept if archive.getinfo(name).compress_type == zipfile.ZIP_STORED} == {
            name for name in kept if name.endswith(".gz")}
    run(HIPBOARD, "unpack", pack, "-o", tmp_path / "out")
    assert files(tmp_path / "out") == kept
    again = tmp_path / "again.hbpack"
    said = run(HIPBOARD, "pack", runs, "-o", again)
    assert said == f"{len(kept)} files -> {again}, {pack.stat().st_size / 1e6:.1f} MB\n"
    assert again.read_bytes() == pack.read_bytes()


@pytest.mark.parametrize("command", ["view", "steps", "memory", "check", "compare"])
def test_commands_read_a_pack_as_the_directory(runs, tmp_path, command):
    pack = tmp_path / "runs.hbpack"
    run(HIPBOARD, "pack", runs, "-o", pack)
    ends = [subprocess.run([HIPBOARD, command, path], capture_output=True, text=True)
            for path in (runs, pack)]
    texts = [re.sub(r"\S*/?runs(\.hbpack)?(?=[/:\s])", "RUNS", end.stdout) for end in ends]
    assert ends[0].returncode == ends[1].returncode and texts[0] == texts[1] and texts[0]


def test_a_directory_and_a_file_in_a_pack(runs, tmp_path):
    pack = tmp_path / "runs.hbpack"
    run(HIPBOARD, "pack", runs, "-o", pack)
    [trace] = (runs / "base").glob("*.json.gz")
    inside = f"{pack}/base/{trace.name}"
    rows = json.loads(run(HIPBOARD, "view", "--json", trace))
    packed = json.loads(run(HIPBOARD, "view", "--json", inside))
    assert json.dumps(rows).replace(str(trace), "") == json.dumps(packed).replace(inside, "")
    said = json.loads(run(HIPBOARD, "compare", "--json", f"{pack}/base", f"{pack}/lr=0.1"))
    assert len(said["runs"]) == 2
    run(HIPBOARD, "convert", pack, "-o", tmp_path / "converted")
    assert sorted(path.parent.name for path in (tmp_path / "converted").rglob("*.json")) == \
        ["base", "lr=0.1"]
    # packs that stand in a log directory are part of it
    shutil.copy(pack, tmp_path / "converted/more.hbpack")
    assert len(run(HIPBOARD, "steps", "--csv", tmp_path / "converted").splitlines()) > \
        len(run(HIPBOARD, "steps", "--csv", pack).splitlines())


def test_a_report_of_a_redacted_pack_tells_no_secret(redacted, tmp_path):
    page = tmp_path / "report.html"
    pack = redacted[1].parent / "mail.hbpack"
    run(HIPBOARD, "report", pack, "-o", page)
    text = page.read_text()
    assert "host-1_11" in text and "lr=0.1" in text
    assert not [kind for kind, secret in SECRETS.items() if secret in text]


def all_text(directory):
    """Names and bytes of everything, with what is compressed as it was before."""
    for name, data in files(directory).items():
        yield name, name.encode() + (gzip.decompress(data) if name.endswith(".gz") else data)


def numbers(directory):
    """What the views say, without names of workers."""
    text = run(HIPBOARD, "view", "--json", directory)
    return re.sub(r'"[^"]*(host|runs|pt\.trace)[^"]*"', '""', text)


@pytest.fixture(scope="module")
def redacted(runs, tmp_path_factory):
    directory = tmp_path_factory.mktemp("redacted")
    pack = directory / "mail.hbpack"
    said = json.loads(run(HIPBOARD, "pack", runs, "-o", pack, "--redact", "--json"))
    run(HIPBOARD, "unpack", pack, "-o", directory / "runs")
    return said, directory / "runs"


def test_no_secret_is_left_anywhere(runs, redacted):
    said, directory = redacted
    assert sum(secret.encode() in text for secret in SECRETS.values()
               for _, text in all_text(runs)) > len(SECRETS)
    for name, text in all_text(directory):
        for kind, secret in SECRETS.items():
            assert secret.encode() not in text, (kind, name)
        assert b"mallory" not in text and b"moonshot" not in text
    assert [file["path"] for file in said["files"] if not file["name"]] == [str(runs / "core.bin")]
    assert {"host", "dir", "address", "secret", "environment"} <= \
        {found["kind"] for found in said["redactions"]}
    for found in said["redactions"]:
        assert found["count"] > 0 and found["files"] > 0
        if found["kind"] in ("secret", "environment"):  # the list itself can be sent, too
            assert not any(secret in found["found"] for secret in SECRETS.values())


def test_the_numbers_are_the_same(runs, redacted):
    assert numbers(redacted[1]) == numbers(runs)


def test_what_was_one_thing_is_one_thing(redacted):
    _, directory = redacted
    for path in directory.rglob("*.pt.trace.json.gz"):
        with gzip.open(path, "rt") as file:
            trace = json.load(file)
        [host] = {trace["host_name"], path.name.split("_")[0]}
        assert host == "host-1" and trace["environment"]["RANK"] == "0"
        stacks = {event["args"]["Call stack"] for event in trace["traceEvents"]
                  if "Call stack" in event.get("args", {})}
        assert len(stacks) == 3
        for stack in stacks:
            assert re.fullmatch(r"dir-\d+/model_\d\.py\(12\): forward;"
                                r"/usr/lib/python3\.11/threading\.py\(1\): run", stack), stack


def test_tensorboard_reads_redacted_event_files(redacted):
    tags, texts = set(), []
    for path in redacted[1].rglob("*tfevents*"):
        for record in RawEventFileLoader(str(path)).Load():  # checks each record's CRCs
            event = Event.FromString(record)
            for value in event.summary.value:
                tags.add(value.tag)
                texts.append(str(value))
    assert {"notes/text_summary", "loss", "acc", "_hparams_/session_start_info"} <= tags
    assert any("on host-1, by address-" in text for text in texts)
    assert any(re.search(r"dir-\d+/set\.bin", text) for text in texts)


def crc(data):
    """CRC-32C as records have it."""
    value = 0xffffffff
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82f63b78 if value & 1 else 0)
    value ^= 0xffffffff
    return struct.pack("<I", ((value >> 15 | value << 17) + 0xa282ead8) & 0xffffffff)


def record_of(message):
    head = struct.pack("<Q", len(message))
    return head + crc(head) + message + crc(message)


def event_with_texts(text):
    """Of TensorBoard's own messages, with a text in each field that users write."""
    from tensorboard.plugins.hparams import plugin_data_pb2
    event = Event(wall_time=1.5, step=7)
    plain = event.summary.value.add(tag=text, node_name=text, simple_value=2.5)
    plain.metadata.display_name, plain.metadata.summary_description = text, text
    plain.metadata.plugin_data.plugin_name, plain.metadata.plugin_data.content = "other", b"/home/mallory/kept by its plugin"
    texts = event.summary.value.add(tag="t")
    texts.tensor.string_val.extend([text.encode(), b"\0\xff/home/mallory/no text", text.encode()])
    texts.tensor.tensor_shape.dim.add(size=3)
    numbers = event.summary.value.add(tag="n")
    numbers.tensor.float_val.extend([1.5, 2.5])
    numbers.tensor.tensor_content = b"/home/mallory/bytes"
    content = plugin_data_pb2.HParamsPluginData(version=3)
    start = content.session_start_info
    start.hparams[text].string_value = text
    start.model_uri, start.monitor_url, start.group_name, start.start_time_secs = text, text, text, 9.5
    experiment = content.experiment
    experiment.name, experiment.description, experiment.user = text, text, text
    experiment.time_created_secs = 3.25
    info = experiment.hparam_infos.add(name=text, display_name=text, description=text, type=1)
    info.domain_discrete.values.add(string_value=text)
    metric = experiment.metric_infos.add(display_name=text, description=text, dataset_type=2)
    metric.name.group, metric.name.tag = text, text
    session = event.summary.value.add(tag="_hparams_/x")
    session.metadata.plugin_data.plugin_name = "hparams"
    session.metadata.plugin_data.content = content.SerializeToString(deterministic=True)
    return event


def test_each_text_of_an_event_is_redacted_and_nothing_else(tmp_path):
    (tmp_path / "run").mkdir()
    file = tmp_path / "run/events.out.tfevents.1.x"
    big = Event(step=8)
    big.summary.value.add(tag="/home/mallory/" + "x" * 300_000 + "/y")  # of more than a window
    log = Event(log_message={"level": 20, "message": "/home/mallory/a/b.py"})
    events = [Event(file_version="brain.Event:2"), event_with_texts("see /home/mallory/a/b.py"), log, big, Event(graph_def=b"/home/mallory/x/y")]
    file.write_bytes(b"".join(record_of(e.SerializeToString(deterministic=True)) for e in events))
    run(HIPBOARD, "pack", tmp_path / "run", "-o", tmp_path / "r.hbpack", "--redact")
    run(HIPBOARD, "unpack", tmp_path / "r.hbpack", "-o", tmp_path / "out")
    [made] = (tmp_path / "out").iterdir()
    found = [Event.FromString(record) for record in RawEventFileLoader(str(made)).Load()]
    events[1] = event_with_texts("see dir-1/b.py")
    events[2].log_message.message = "dir-1/b.py"
    events[3].summary.value[0].tag = "dir-2/y"
    for one, wanted in zip(found, events, strict=True):
        assert str(one)[:3000] == str(wanted)[:3000]
    # What is behind a record that is damaged is left out, and said so.
    data = file.read_bytes()
    for at in (3, 9, 20, len(data) - 2):
        file.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
        [said] = json.loads(run(HIPBOARD, "pack", tmp_path / "run", "-o", tmp_path / "r.hbpack", "--redact", "--json", "--force",
                                "--dry-run"))["files"]
        assert said["left_out"] == "what is behind a damaged record"


def test_the_real_plugin_shows_what_was_redacted(redacted, tmp_path):
    with TensorBoard(redacted[1], tmp_path / "log") as board:
        board.wait_until_loaded()
        assert sorted(board.get("runs")["runs"]) == ["base", "lr=0.1"]
        workers = board.get("workers", run="base", view="Overview")
        assert workers == ["host-1_11"]


def test_a_dry_run_writes_nothing_and_says_the_same(runs, redacted, tmp_path):
    said = json.loads(run(HIPBOARD, "pack", runs, "-o", tmp_path / "x.hbpack", "--redact",
                          "--dry-run", "--json"))
    assert not list(tmp_path.iterdir())
    assert said["redactions"] == redacted[0]["redactions"]
    assert said["bytes"] == redacted[0]["bytes"]


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """Three ranks on two hosts, an operator that names a directory, and their digests."""
    logdir = tmp_path_factory.mktemp("job") / "job"
    made_ranks.write(logdir, 3, late=1, per_node=2, steps=2)
    for path in logdir.glob("*.json"):
        path.write_text(path.read_text().replace('"work"', f'"{SECRETS["directory"]}/work.py(3): f"'))
    run(HIPBOARD, "ranks", "-o", logdir / "ranks.hbranks", logdir)
    return logdir


def records(file):
    """The stamp and the digest of each."""
    at = 16
    while at < len(file):
        [size] = struct.unpack_from("<I", file, at)
        yield file[at + 8:at + 24], file[at + 24:at + 8 + size]
        at += 8 + size


def test_digests_of_ranks_say_the_same_as_redacted_traces(job, tmp_path):
    said = json.loads(run(HIPBOARD, "pack", job, "-o", tmp_path / "job.hbpack", "--redact", "--json"))
    assert not [file for file in said["files"] if file.get("left_out")]
    run(HIPBOARD, "unpack", tmp_path / "job.hbpack", "-o", tmp_path / "job")
    digests = (tmp_path / "job" / "ranks.hbranks").read_bytes()
    assert b"node1" in (job / "ranks.hbranks").read_bytes()
    assert not [secret for secret in (b"node0", b"node1", b"mallory", b"moonshot") if secret in digests]
    assert b"host-2" in digests and b"dir-1/work.py" in digests
    traces = sorted((tmp_path / "job").glob("*.json"))
    run(HIPBOARD, "ranks", "-o", tmp_path / "made.hbranks", *traces)
    made = list(records((tmp_path / "made.hbranks").read_bytes()))
    redacted = list(records(digests))
    assert [digest for _, digest in made] == [digest for _, digest in redacted] and len(made) == 3
    # Of which file they were made nobody is told; they are read for those that come out of the pack.
    assert all(any(stamp) for stamp, _ in made) and not any(any(stamp) for stamp, _ in redacted)


def test_digests_that_cannot_be_redacted_are_left_out(job, tmp_path):
    def left_out(*options):
        said = json.loads(run(HIPBOARD, "pack", tmp_path / "job", "--dry-run", "--json", *options))
        return {file["path"]: file["left_out"] for file in said["files"] if file["left_out"]}

    shutil.copytree(job, tmp_path / "job")
    path = tmp_path / "job" / "ranks.hbranks"
    assert left_out("--steps", "0:0")[str(path)].startswith("it tells of whole traces")
    whole = path.read_bytes()
    path.write_bytes(whole[:-3])
    assert left_out("--redact") == {str(path): "what is behind a damaged record"}
    path.write_bytes(b"hbranks\n" + bytes([9]) + whole[9:])
    assert "version 9" in left_out("--redact")[str(path)]


@pytest.mark.parametrize("options, kept", [
    ([], [[0, 1, 2, 3]]), (["--steps", "1:"], [[1, 2, 3]]), (["--steps", ":1"], [[0, 1]]), (["--time", "0.02:"], [[2, 3]]),
    (["--time", ":0.02"], [[0, 1]]), (["--split", "2steps"], [[0, 1], [2, 3]]), (["--split", "20ms"], [[0, 1], [2, 3]])])
def test_each_choice_alone_makes_a_part(options, kept, tmp_path):
    events = [{"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": 10000 * i + at, "dur": dur, "args": {}}
              for i in range(4) for cat, name, at, dur in (("user_annotation", f"ProfilerStep#{i}", 0, 9000), ("cpu_op", "op", 10, 80))]
    (tmp_path / "log").mkdir()
    (tmp_path / "log/h_1.1.pt.trace.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    run(HIPBOARD, "pack", tmp_path / "log", "-o", tmp_path / "p.hbpack", *options)
    with zipfile.ZipFile(tmp_path / "p.hbpack") as archive:
        traces = [json.loads(archive.read(name))["traceEvents"] for name in archive.namelist()]
    steps = [[int(e["name"].split("#")[1]) for e in trace if e.get("name", "").startswith("ProfilerStep#")] for trace in traces]
    assert sorted(map(sorted, steps)) == kept


def test_a_part_of_the_steps(runs, tmp_path):
    [trace] = (runs / "base").glob("*.json.gz")
    with gzip.open(trace, "rt") as file:
        steps = sorted({int(e["name"].split("#")[1]) for e in json.load(file)["traceEvents"]
                        if e.get("name", "").startswith("ProfilerStep#")})
    pack = tmp_path / "slim.hbpack"
    (tmp_path / "tmp").mkdir()  # others pack at the same time
    run(HIPBOARD, "pack", runs / "base", "-o", pack, "--steps", f"{steps[0]}:{steps[0]}",
        env=dict(os.environ, TMPDIR=str(tmp_path / "tmp")))
    with zipfile.ZipFile(pack) as archive:
        assert trace.name in archive.namelist()
        with gzip.open(io.BytesIO(archive.read(trace.name)), "rt") as file:
            kept = {e["name"] for e in json.load(file)["traceEvents"]
                    if e.get("name", "").startswith("ProfilerStep#")}
    assert kept == {f"ProfilerStep#{steps[0]}"} and len(steps) > 1
    assert not list((tmp_path / "tmp").iterdir())


@needs_sqlite
def test_a_part_of_other_tools_files(tmp_path):
    """They are imported together and cut; what cannot be cut is named, and what is no trace stays whole."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "runs/csv").mkdir(parents=True)
    for sample in (ROOT / "tests/data/rocprofv3_csv").iterdir():
        shutil.copy(sample, tmp_path / "runs/csv")
    rocpd_made.training(tmp_path / "runs/r.db", 5)
    (tmp_path / "runs/bad.db").write_bytes((tmp_path / "runs/r.db").read_bytes()[:3000])
    (tmp_path / "runs/x.nsys-rep").write_bytes(b"x" * 100)
    (tmp_path / "runs/read.me").write_text("hello")
    environment = dict(os.environ, TMPDIR=str(tmp_path / "tmp"))
    done = subprocess.run([HIPBOARD, "pack", tmp_path / "runs", "-o", tmp_path / "o.hbpack", "--steps", "1:2"],
                          capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "bad.db: left out: a SQLite database" in done.stderr and "nsys export" in done.stderr
    with zipfile.ZipFile(tmp_path / "o.hbpack") as archive:
        names = archive.namelist()
        [trace] = [name for name in names if name.startswith("node7_4711.")]
        steps = {e["name"] for e in json.loads(archive.read(trace))["traceEvents"] if "ProfilerStep#" in e["name"]}
    assert steps == {"ProfilerStep#1", "ProfilerStep#2"}
    assert all(name.endswith(".pt.trace.json") for name in names if name != "read.me") and "read.me" in names
    assert not list((tmp_path / "tmp").iterdir())
    # None of these has step 77; of several files each is a run.
    assert "has none of these steps" in fails("report", tmp_path / "runs/r.db", "--steps", "77:")
    run(HIPBOARD, "pack", tmp_path / "runs/r.db", ROOT / "tests/data/matmul_result.rpd.gz", "-o",
        tmp_path / "two.hbpack", "--steps", "0:0", env=environment)
    with zipfile.ZipFile(tmp_path / "two.hbpack") as archive:
        assert {name.split("/")[0] for name in archive.namelist()} == {"r.db", "matmul_result.rpd.gz"}
    run(HIPBOARD, "pack", tmp_path / "runs/r.db", "-o", tmp_path / "one.hbpack", "--steps", "1:1", env=environment)
    with zipfile.ZipFile(tmp_path / "one.hbpack") as archive:
        assert [name.split(".")[0] for name in archive.namelist()] == ["node7_4711"]
    # What is made of one that lies deeper lies there.
    (tmp_path / "deep/run").mkdir(parents=True)
    (tmp_path / "runs/r.db").rename(tmp_path / "deep/run/r.db")
    run(HIPBOARD, "pack", tmp_path / "deep", "-o", tmp_path / "deep.hbpack", "--steps", "1:1", env=environment)
    with zipfile.ZipFile(tmp_path / "deep.hbpack") as archive:
        assert [name.split(".")[0] for name in archive.namelist()] == ["run/node7_4711"]


@pytest.mark.parametrize("words", ["runs", "runs/", "runs//", "./runs/.", "runs/a.1.pt.trace.json", ".", "./"])
def test_nothing_stays_of_a_cut(words, tmp_path):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "here/runs").mkdir(parents=True)
    shutil.copy(ROOT / "tests/data/torch-2.13-cpu.pt.trace.json", tmp_path / "here/runs/a.1.pt.trace.json")
    run(HIPBOARD, "report", words, "--steps", "0:", "-o", tmp_path / "r.html", cwd=tmp_path / "here",
        env=dict(os.environ, TMPDIR=str(tmp_path / "tmp")))
    assert not list((tmp_path / "tmp").iterdir())


@needs_sqlite
def test_nothing_stays_of_an_interrupted_cut(tmp_path):
    (tmp_path / "tmp").mkdir()
    rocpd_made.training(tmp_path / "r.db", 3000)
    with subprocess.Popen([HIPBOARD, "report", tmp_path / "r.db", "--steps", "0:", "-o", tmp_path / "r.html"],
                          stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          env=dict(os.environ, TMPDIR=str(tmp_path / "tmp"))) as process:
        while not list((tmp_path / "tmp").iterdir()) and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
    assert process.returncode in (-signal.SIGINT, 0)
    assert not list((tmp_path / "tmp").iterdir())


def fails(*arguments):
    done = subprocess.run([HIPBOARD, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode in (1, 2) and not done.stdout
    return done.stderr


def test_what_goes_wrong_is_said(runs, tmp_path):
    pack = tmp_path / "runs.hbpack"
    run(HIPBOARD, "pack", runs, "-o", pack)
    assert "exists" in fails("pack", runs, "-o", pack)
    assert "exists" in fails("unpack", pack, "-o", runs)
    (tmp_path / "empty").mkdir()
    assert "no file to pack" in fails("pack", tmp_path / "empty", "-o", tmp_path / "e.hbpack")
    assert "No such file" in fails("pack", tmp_path / "none", "-o", tmp_path / "e.hbpack")
    cut = tmp_path / "cut.hbpack"
    cut.write_bytes(pack.read_bytes()[:-200])
    assert "cut off" in fails("unpack", cut, "-o", tmp_path / "x")
    assert "cut off" in fails("view", cut)
    evil = tmp_path / "evil.hbpack"
    with zipfile.ZipFile(evil, "w") as archive:
        archive.writestr("../evil.txt", "x")
    assert "leads out of the directory" in fails("unpack", evil, "-o", tmp_path / "x")
    assert not (tmp_path / "evil.txt").exists()
    assert "it has no 'base/nothing" in fails("view", f"{pack}/base/nothing.pt.trace.json")
    assert "is a pack: name a trace in it" in fails("table", pack)
