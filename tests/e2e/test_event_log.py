# SPDX-License-Identifier: MIT
"""What hipboard/event_log.h writes, asked back from the real TensorBoard and set beside what
PyTorch's SummaryWriter writes for the same calls."""
import math
import struct

import pytest
from tensorboard.plugins.hparams import metadata as hparams_metadata

import event_files
from event_files import (BACKENDS, Server, as_dict, finish, log, on_small_disk, read, start,
                         values)
from support import BUILD, run


def single(value):
    """The 32-bit number nearest to `value`."""
    return struct.unpack("f", struct.pack("f", value))[0]


LOSSES = [math.exp(-step / 30) + 0.01 * math.sin(step) for step in range(200)]
DURATIONS = [[1 + step + 0.37 * i for i in range(40)] for step in range(3)]
TABLE = "# Kernels\\n\\n| name | µs |\\n|---|---|\\n| `gemm<float>` | 12.5 |"


def training_run():
    """Calls of a run with everything in it."""
    yield from [("hparam", "lr", "number", 0.1), ("hparam", "opt", "text", "sgd"),
                ("hparam", "amp", "bool", "true"), ("metric", "train/loss"), ("hparams",)]
    yield from [("chart", "Time", "steps", "lines", "step/.*", "train/loss"),
                ("chart", "Time", "band", "margin", "step/ms", "step/low", "step/high"),
                ("chart", "Memory", "peak", "lines", "memory/peak"), ("layout",)]
    yield from (("scalar", "train/loss", step, repr(loss)) for step, loss in enumerate(LOSSES))
    yield ("text", "report/kernels", 7, TABLE)
    yield from (("histogram", "kernel_us", step, *durations)
                for step, durations in enumerate(DURATIONS))


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("events")
    log(logdir / "one", training_run())
    return logdir


@pytest.fixture(scope="module", params=BACKENDS)
def server(request, logdir, tmp_path_factory):
    out = tmp_path_factory.mktemp("server") / "log"
    with Server(logdir, out, arguments=BACKENDS[request.param]) as server:
        server.wait_for(lambda: server.ask("runs"), lambda runs: runs == ["one"])
        server.wait_for(lambda: server.ask("plugin/text/tags"), lambda tags: tags.get("one"))
        yield server


# ---- asked back from TensorBoard ----

def test_scalars_come_back(server):
    assert server.scalar_tags("one") == {"train/loss"}
    assert server.scalars("one", "train/loss") == [
        (step, single(loss)) for step, loss in enumerate(LOSSES)]


def test_texts_come_back_as_markdown(server):
    assert server.ask("plugin/text/tags") == {"one": ["report/kernels/text_summary"]}
    [text] = server.ask("plugin/text/text", run="one", tag="report/kernels/text_summary")
    assert text["step"] == 7
    for part in ("<h1>Kernels</h1>", "<th>µs</th>", "<code>gemm&lt;float&gt;</code>",
                 "<td>12.5</td>"):
        assert part in text["text"]


def test_histograms_come_back(server):
    found = server.ask("plugin/histograms/histograms", run="one", tag="kernel_us")
    assert [step for _, step, _ in found] == [0, 1, 2]
    for (_, _, buckets), durations in zip(found, DURATIONS):
        buckets = [bucket for bucket in buckets if bucket[2] > 0]
        assert buckets[-1][1] == pytest.approx(max(durations), rel=1e-6)
        for left, right, count in buckets[:-1]: # edges are 32-bit numbers
            assert count == sum(left * (1 - 1e-6) <= value < right * (1 - 1e-6)
                                for value in durations)
        assert sum(count for _, _, count in buckets) == len(durations)


def test_hparams_come_back(server):
    experiment = server.ask("plugin/hparams/experiment", body={"experimentName": ""})
    assert {info["name"]: info["type"] for info in experiment["hparamInfos"]} == {
        "lr": "DATA_TYPE_FLOAT64", "opt": "DATA_TYPE_STRING", "amp": "DATA_TYPE_BOOL"}
    assert [info["name"] for info in experiment["metricInfos"]] == [
        {"group": "", "tag": "train/loss"}]
    answer = server.ask("plugin/hparams/session_groups", body={
        "experimentName": "", "colParams": [], "startIndex": 0, "sliceSize": 10,
        "allowedStatuses": ["STATUS_SUCCESS"]})
    [group] = answer["sessionGroups"]
    assert group["hparams"] == {"lr": 0.1, "opt": "sgd", "amp": True}
    [session] = group["sessions"]
    assert session["status"] == "STATUS_SUCCESS"
    assert 0 < session["startTimeSecs"] <= session["endTimeSecs"]
    [metric] = group["metricValues"]
    assert metric["value"] == single(LOSSES[-1])
    assert metric["trainingStep"] == len(LOSSES) - 1


def test_the_layout_comes_back(server):
    layout = server.ask("plugin/custom_scalars/layout")
    assert [(category["title"], [chart["title"] for chart in category["chart"]])
            for category in layout["category"]] == [("Time", ["steps", "band"]),
                                                    ("Memory", ["peak"])]
    steps, band = layout["category"][0]["chart"]
    assert steps["multiline"]["tag"] == ["step/.*", "train/loss"]
    assert band["margin"]["series"] == [
        {"value": "step/ms", "lower": "step/low", "upper": "step/high"}]


# ---- another reader ----

def test_tbparse_reads_every_value(logdir):
    """Into tables of pandas, by its own way through a file."""
    reader = pytest.importorskip("tbparse").SummaryReader(str(logdir / "one"))
    scalars = reader.scalars
    assert list(scalars["step"]) == list(range(len(LOSSES)))
    assert list(scalars["value"]) == [single(loss) for loss in LOSSES]
    assert set(scalars["tag"]) == {"train/loss"}
    [(step, tag, text)] = reader.text[["step", "tag", "value"]].itertuples(index=False)
    assert (step, tag, text) == (7, "report/kernels", TABLE.replace("\\n", "\n"))
    assert list(reader.histograms["step"]) == [0, 1, 2]
    for (_, row), durations in zip(reader.histograms.iterrows(), DURATIONS):
        begins = [-math.inf, *row["limits"]]
        for low, limit, count in zip(begins, row["limits"], row["counts"]):
            assert count == sum(low < value <= limit for value in durations)
        assert sum(row["counts"]) == len(durations)
    assert {row["tag"]: row["value"] for _, row in reader.hparams.iterrows()} == {
        "lr": 0.1, "opt": "sgd", "amp": True}


# ---- names and numbers that are not nice ----

NUMBERS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity", "-0.0": 0.0, "1e300": "Infinity",
           "1e-300": 0.0, "3.4e38": single(3.4e38)}
NAMES = {b"a b": "a b", "é/日本".encode(): "é/日本", b"\xff\xfe/x": "\ufffd\ufffd/x",
         b"\x01\x1b[31m": "\x01\x1b[31m", b"<b>&amp;\"'": "<b>&amp;\"'", b"x" * 4096: "x" * 4096}


@pytest.mark.parametrize("backend", BACKENDS)
def test_odd_numbers_and_names_come_back(tmp_path, backend):
    calls = [("scalar", "odd", step, value) for step, value in enumerate(NUMBERS)]
    calls += [("scalar", name, 1, 2.5) for name in NAMES]
    calls += [("scalar", "steps", step, 1) for step in (-(2 ** 62), -1, 2 ** 62)]
    log(tmp_path / "run", calls)
    with Server(tmp_path, tmp_path / "log", arguments=BACKENDS[backend]) as server:
        server.wait_for(lambda: server.scalar_tags("run"), lambda tags: "steps" in tags)
        assert server.scalars("run", "odd") == list(enumerate(NUMBERS.values()))
        assert server.scalar_tags("run") == {"odd", "steps", *NAMES.values()}
        for name in NAMES.values():
            assert server.scalars("run", name) == [(1, 2.5)]
        assert server.scalars("run", "steps") == [(-(2 ** 62), 1), (-1, 1), (2 ** 62, 1)]


def test_a_million_scalars_are_all_there(tmp_path):
    log(tmp_path, [("count", "train/loss", 1000000)])
    [path] = tmp_path.iterdir()
    events = read(path)
    assert events[0].file_version == "brain.Event:2"
    assert len(events) == 1000001
    for step, event in enumerate(events[1:]):
        [value] = event.summary.value
        assert (event.step, value.simple_value) == (step, step)


# ---- beside PyTorch ----

def torch_run(directory):
    from torch.utils.tensorboard import SummaryWriter
    writer = SummaryWriter(directory, filename_suffix=".theirs")
    writer.add_custom_scalars({
        "Time": {"steps": ["Multiline", ["step/.*", "train/loss"]],
                 "band": ["Margin", ["step/ms", "step/low", "step/high"]]},
        "Memory": {"peak": ["Multiline", ["memory/peak"]]}})
    for step, loss in enumerate(LOSSES):
        writer.add_scalar("train/loss", loss, step)
    writer.add_text("report/kernels", TABLE.replace("\\n", "\n"), 7)
    for step, durations in enumerate(DURATIONS):
        import numpy
        writer.add_histogram("kernel_us", numpy.array(durations), step)
    writer.add_hparams({"lr": 0.1, "opt": "sgd"}, {"train/loss": 1.0}, run_name="hparams")
    writer.close()
    return directory


def assert_close(ours, theirs):
    """The same fields, and the same values but for the order of additions."""
    assert type(ours) is type(theirs)
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys()
        for key in ours:
            assert_close(ours[key], theirs[key])
    elif isinstance(ours, list):
        assert len(ours) == len(theirs)
        for pair in zip(ours, theirs):
            assert_close(*pair)
    elif isinstance(ours, float):
        assert ours == pytest.approx(theirs, rel=1e-12)
    else:
        assert ours == theirs


def test_the_fields_are_those_of_torch(logdir, tmp_path):
    ours, theirs = values(logdir / "one"), values(torch_run(tmp_path / "torch"))
    for tag in ("train/loss", "report/kernels/text_summary", "kernel_us",
                "custom_scalars__config__"):
        assert len(ours[tag]) == len(theirs[tag])
        for (our_step, our_value), (their_step, their_value) in zip(ours[tag], theirs[tag]):
            assert our_step == their_step
            assert_close(as_dict(our_value), as_dict(their_value))


HPARAMS = {hparams_metadata.EXPERIMENT_TAG: hparams_metadata.parse_experiment_plugin_data,
           hparams_metadata.SESSION_START_INFO_TAG:
               hparams_metadata.parse_session_start_info_plugin_data,
           hparams_metadata.SESSION_END_INFO_TAG:
               hparams_metadata.parse_session_end_info_plugin_data}


def test_the_hyperparameters_are_those_of_torch(logdir, tmp_path):
    """But for the times, which torch leaves out, and booleans, which it writes as numbers."""
    ours = values(logdir / "one")
    theirs = values(torch_run(tmp_path / "torch") / "hparams")
    for tag, parse in HPARAMS.items():
        [(_, our_value)], [(_, their_value)] = ours[tag], theirs[tag]
        our_content = as_dict(parse(our_value.metadata.plugin_data.content))
        their_content = as_dict(parse(their_value.metadata.plugin_data.content))
        for time in ("start_time_secs", "end_time_secs"):
            our_content.pop(time, None)
        our_content.get("hparams", {}).pop("amp", None)
        for infos in [our_content.get("hparam_infos", [])]:
            infos[:] = [info for info in infos if info["name"] != "amp"]
        assert our_content == their_content
        our_value.metadata.plugin_data.ClearField("content")
        their_value.metadata.plugin_data.ClearField("content")
        assert our_value == their_value


def test_the_first_record_is_that_of_torch(logdir, tmp_path):
    [ours], [theirs] = (run.glob("*tfevents*") for run in (logdir / "one",
                                                           torch_run(tmp_path / "torch")))
    our_event, their_event = read(ours)[0], read(theirs)[0]
    assert our_event.source_metadata.writer == "hipboard"
    assert isinstance(our_event.wall_time, float) and our_event.wall_time % 1 != 0
    for event in (our_event, their_event):
        event.ClearField("source_metadata")
        event.ClearField("wall_time")
    assert our_event == their_event
    # The same name but for seconds, process and counter.
    our_name, their_name = ours.name.split("."), theirs.name.split(".")
    assert our_name[:3] == their_name[:3] and our_name[4:-2] == their_name[4:-3]
    assert len(our_name[3]) == len(their_name[3]) == 10


# ---- several writers, one directory ----

def test_a_running_tensorboard_sees_each_flush(tmp_path):
    process = start(tmp_path / "run")

    def say(*calls):
        process.stdin.write(event_files.script(*calls, ("flush",)))
        process.stdin.flush()
        while process.stdout.readline() != b"success\n":
            assert process.poll() is None

    say(("scalar", "loss", 0, 0))
    with Server(tmp_path, tmp_path / "log", arguments=BACKENDS["fast"]) as server:
        server.wait_for(lambda: server.scalar_tags("run"), lambda tags: "loss" in tags)
        for step in range(1, 4):
            say(("scalar", "loss", step, step))
            server.wait_for(lambda: server.scalars("run", "loss"),
                            lambda found: found == [(s, s) for s in range(step + 1)])
    finish(process, [])


@pytest.mark.parametrize("backend", BACKENDS)
def test_two_processes_and_a_stranger_share_a_run(tmp_path, backend):
    from torch.utils.tensorboard import SummaryWriter
    run = tmp_path / "run"
    with SummaryWriter(run) as theirs:
        theirs.add_scalar("theirs", 1.0, 1)
    [stranger] = run.iterdir()
    before = stranger.read_bytes()
    ours = [start(run), start(run)]
    for rank, process in enumerate(ours):
        finish(process, [("scalar", f"rank{rank}", step, rank) for step in range(50)])
    assert stranger.read_bytes() == before
    assert len(list(run.iterdir())) == 3
    with Server(tmp_path, tmp_path / "log", arguments=BACKENDS[backend]) as server:
        server.wait_for(lambda: server.scalar_tags("run"),
                        lambda tags: tags == {"theirs", "rank0", "rank1"})
        for rank in (0, 1):
            assert server.scalars("run", f"rank{rank}") == [(s, rank) for s in range(50)]


def test_a_torn_last_record_is_skipped(tmp_path):
    log(tmp_path, [("scalar", "loss", step, step) for step in range(10)])
    [path] = tmp_path.iterdir()
    whole = path.read_bytes()
    for cut in (1, 10, 30):
        path.write_bytes(whole[:-cut])
        assert [event.step for event in read(path)[1:]] == list(range(9))


def test_the_sample_learns_faster_at_a_higher_rate(tmp_path):
    run(BUILD / "samples/event_log", cwd=tmp_path)
    runs = sorted((tmp_path / "runs").iterdir())
    assert [path.name for path in runs] == ["rate_0.001", "rate_0.01", "rate_0.1"]
    last = []
    for found in map(values, runs):
        losses = [value.simple_value for _, value in found["loss"]]
        assert len(losses) == 400 and losses[-1] < losses[0] / 10
        last.append(losses[-1])
        assert {value.histo.num for _, value in found["weights"]} == {49}
        assert len(found) == 6
    assert last == sorted(last, reverse=True)


# ---- disks that do not take it ----

def test_a_full_disk_is_said_and_the_program_goes_on(tmp_path):
    disk, copy = tmp_path / "disk", tmp_path / "copy"
    disk.mkdir()
    done = on_small_disk(disk, "size=64k",
                         f'"{event_files.LOG_EVENTS}" "{disk}"; cp -r "{disk}" "{copy}"',
                         [("count", "loss", 100000), ("flush",), ("scalar", "more", 1, 1)])
    assert done.stdout.decode().split("\n")[:3] == ["open", "input/output error",
                                                    "input/output error"]
    said, lost = done.stderr.decode().splitlines()
    assert said.startswith("hipboard: writing '") and "No space left on device" in said
    [path] = copy.iterdir()
    events = read(path)[1:]
    assert 500 < len(events) < 2000
    assert lost == f"hipboard: event log in '{disk}': {100001 - len(events)} records are lost"
    assert [event.step for event in events] == list(range(len(events)))


def test_a_read_only_directory_is_said_and_the_program_goes_on(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    done = on_small_disk(disk, "ro", f'"{event_files.LOG_EVENTS}" "{disk}"',
                         [("scalar", "loss", 1, 1)])
    assert done.returncode == 0
    assert done.stdout.decode().splitlines() == ["not open", "success"]
    assert f"creating '{disk}/events.out.tfevents." in done.stderr.decode()
    assert "Read-only file system" in done.stderr.decode()
