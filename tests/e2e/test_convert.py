# SPDX-License-Identifier: MIT
"""Real traces of AMD and NVIDIA GPUs, converted, in the real plugin."""
import gzip
import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from server import TensorBoard
from support import BUILD, ROOT, run

TRACES = ["mi250_minitoy", "triton_example"]
HIPBOARD = BUILD / "tools/hipboard/hipboard"
CALLS = ("cuda_runtime", "cuda_driver")
WORK = ("kernel", "gpu_memcpy", "gpu_memset")


def source(name):
    return ROOT / f"tests/data/{name}.json.gz"


def events(name):
    with gzip.open(source(name), "rt") as file:
        return [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]


def linked_time(name):
    """The time of the device work that the trace itself links to an operator."""
    ids = {event["args"]["External id"] for event in events(name) if event["cat"] == "cpu_op"}
    calls = {event["args"]["correlation"]: event["args"].get("External id")
             for event in events(name) if event["cat"] in CALLS}
    return sum(event["dur"] for event in events(name)
               if event["cat"] in WORK and calls.get(event["args"]["correlation"]) in ids)


def profile(path):
    from torch_tb_profiler.profiler.data import RunProfileData
    return RunProfileData.parse("worker", "1", str(path), str(path.parent))


def operator_time(data):
    return sum(op.self_device_duration for op in data.op_list_groupby_name)


@pytest.fixture(scope="module", params=TRACES)
def converted(request, tmp_path_factory):
    """A trace's name, what convert said, and the file it made."""
    directory = tmp_path_factory.mktemp("converted") / "run"
    said = json.loads(run(HIPBOARD, "convert", source(request.param), "-o", directory, "--json"))
    [path] = directory.iterdir()
    assert said["files"] == [str(path)]
    return request.param, said, path


@pytest.mark.parametrize("name", TRACES)
def test_steps_are_not_guessed_where_nothing_tells_of_any(name, tmp_path):
    """Two steps, or one, are no pattern: one for all. Marks are left as they are."""
    with gzip.open(source(name), "rt") as file:
        trace = json.load(file)
    kept = [event for event in trace["traceEvents"] if "ProfilerStep#" not in event["name"]]
    (tmp_path / "bare.json").write_text(json.dumps(dict(trace, traceEvents=kept)))
    run(HIPBOARD, "convert", "--find-steps", tmp_path / "bare.json", source(name), "-o", tmp_path)
    bare, marked = (json.loads((tmp_path / f"{stem}.pt.trace.json").read_text())
                    for stem in ["bare", name])
    assert bare["hipboard_steps"] == {"method": "one for all", "inferred": True, "steps": 1,
                                      "rule": "one for all: nothing tells of steps"}
    [step] = [event for event in bare["traceEvents"] if "ProfilerStep#" in event["name"]]
    assert (step["name"], step["args"]["hipboard"]) == ("ProfilerStep#0", "inferred")
    for event in bare["traceEvents"]:
        if event["ph"] == "X" and event.get("cat") in WORK + ("cpu_op",):
            assert step["ts"] <= event["ts"] <= step["ts"] + step["dur"]
    assert "hipboard_steps" not in marked


def test_the_trace_as_it_was_has_no_device_times(converted, tmp_path):
    name, _, _ = converted
    path = tmp_path / "before.pt.trace.json"
    path.write_bytes(gzip.decompress(source(name).read_bytes()))
    assert operator_time(profile(path)) == 0
    assert linked_time(name) > 0


def test_device_times_of_operators_are_those_of_their_kernels(converted):
    name, _, path = converted
    # The plugin takes differences of doubles that are 1/1024 µs apart.
    rounding = sum(event["cat"] in WORK for event in events(name)) / 1024
    assert operator_time(profile(path)) == pytest.approx(linked_time(name), abs=rounding)


def test_every_route_answers(converted, tmp_path):
    _, _, path = converted
    with TensorBoard(path.parent.parent, tmp_path / "tensorboard.log") as board:
        board.wait_until_loaded()
        board.visit_all()
        [shown] = board.profiles("run", "Operator")
        table = board.get("operation/table", group_by="Operation", **shown)
        assert any(row["device_self_duration"] > 0 for row in table["data"])
        kernels = board.get("kernel/table", group_by="Kernel", **shown)
        assert kernels["data"]["rows"]


def test_converting_again_changes_nothing(converted, tmp_path):
    _, _, path = converted
    said = json.loads(run(HIPBOARD, "convert", path, "-o", tmp_path, "--json"))
    assert said["identical"] and not said["changed"]
    assert (tmp_path / path.name).read_bytes() == path.read_bytes()


TRAINING = """
import sys, torch
from torch.profiler import profile, ProfilerActivity
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
samples = torch.utils.data.TensorDataset(torch.randn(256, 64), torch.randint(0, 10, (256,)))
with profile(activities=[ProfilerActivity.CPU]) as prof:
    for x, y in torch.utils.data.DataLoader(samples, batch_size=32):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
prof.export_chrome_trace(sys.argv[1])
"""


def test_steps_of_a_training_without_marks_are_found(tmp_path):
    """PyTorch's own trace of eight batches, on the processor, without a schedule."""
    bare = tmp_path / "bare.json"
    subprocess.run([ROOT / ".venv/bin/python", "-c", TRAINING, bare], check=True, capture_output=True)
    said = json.loads(run(HIPBOARD, "convert", "--find-steps", "--json", bare, "-o", tmp_path / "out"))
    trace = json.loads(Path(said["files"][0]).read_text())
    assert said["changed"]["found_steps"] == 8 and trace["hipboard_steps"]["method"] == "sequence"
    steps = [e for e in trace["traceEvents"] if e["name"].startswith("ProfilerStep#")]
    optimizers = [e for e in trace["traceEvents"] if "Optimizer.step" in e["name"]]
    assert [sum(s["ts"] <= o["ts"] <= s["ts"] + s["dur"] for o in optimizers) for s in steps] == [1] * 8


def test_operators_that_come_again_are_no_steps(tmp_path):
    """What a library is called for says nothing of steps, where the same as ranges of the program would."""
    def found(category):
        events = []
        for i in range(3):
            at = 10_000 * i
            events += [{"ph": "X", "cat": category, "name": "layer", "pid": 1, "tid": 1, "ts": at, "dur": 9000,
                        "args": {"External id": i + 1}}]
            events += [{"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 1, "tid": 1, "ts": at + 10,
                        "dur": 5, "args": {"External id": i + 1, "correlation": i + 1}},
                       {"ph": "X", "cat": "kernel", "name": f"kernel{i}", "pid": 0, "tid": 7, "ts": at + 100, "dur": 8000,
                        "args": {"device": 0, "stream": 7, "correlation": i + 1}}]
        path = tmp_path / f"{category}.json"
        path.write_text(json.dumps({"traceEvents": events}))
        said = json.loads(run(HIPBOARD, "convert", "--find-steps", "--json", path, "-o", tmp_path / category))
        trace = json.loads(Path(said["files"][0]).read_text())
        steps = [e["ts"] for e in trace["traceEvents"] if e["name"].startswith("ProfilerStep#")]
        return trace["hipboard_steps"]["rule"], steps

    assert found("user_annotation") == ("ranges called 'layer', which have 100 % of the device's time",
                                        [0, 10_000, 20_000])
    assert found("cpu_op") == ("one for all: nothing tells of steps", [0])


@pytest.mark.parametrize("ranges, kernels, taken", [((3, 5), 0, 1), ((5, 3), 0, 0), ((4, 4), 0, 0), ((3, 5), 1, 0)])
def test_steps_of_several_processes(ranges, kernels, taken, tmp_path):
    """Those of the one that has most to do: work of devices, which is the first one's, or else ranges."""
    events = [{"ph": "X", "cat": "user_annotation", "name": f"step {10 * process + i}", "pid": 11 + process, "tid": 7 + process,
               "ts": 10_000 * i + 500 * process, "dur": 9000, "args": {}} for process in range(2) for i in range(ranges[process])]
    events += [{"ph": "X", "cat": "kernel", "name": "kernel", "pid": 0, "tid": 20, "ts": 100, "dur": 80, "args": {"device": 0}}] * kernels
    path = tmp_path / "two.json"
    path.write_text(json.dumps({"traceEvents": events}))
    said = json.loads(run(HIPBOARD, "convert", "--find-steps", "--json", path, "-o", tmp_path / "out"))
    trace = json.loads(Path(said["files"][0]).read_text())
    steps = [(e["name"], e["pid"], e["ts"]) for e in trace["traceEvents"] if e["name"].startswith("ProfilerStep#")]
    assert trace["hipboard_steps"]["rule"] == "ranges whose names count steps"
    assert steps == [(f"ProfilerStep#{10 * taken + i}", 11 + taken, 10_000 * i + 500 * taken) for i in range(ranges[taken])]


def write_counters(path, kernels, counters):
    """A table as `rocprofv3 --pmc` writes it, of these kernels' names, one after the other."""
    head = ('"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id",'
            '"Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count",'
            '"SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"')
    rows = [f'"{i}","{i}","Agent 1","1","7","7","64","1","{kernel}","64","0","0","8","0","16","{counter}",'
            f'"{value + i}","{1000000 * i}","{1000000 * i + 500}"'
            for i, kernel in enumerate(kernels, 1) for counter, value in counters.items()]
    path.write_text("\n".join([head, *rows, ""]))


def test_counters_of_another_run_are_joined_by_name_and_order(tmp_path):
    names = ["gemm", "relu", "gemm", "void softmax<float>(float*)", "relu", "gemm"]
    trace = {"traceEvents": [{"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 1, "ts": 100 * (9 - i), "dur": 10,
                              "args": {"device": 0, "stream": 1, "correlation": 5 + i} if i != 2 else {}}
                             for i, name in enumerate(names)]}
    file, table, out = tmp_path / "trace.json", tmp_path / "other_counter_collection.csv", tmp_path / "out"
    file.write_text(json.dumps(trace))

    def joined(kernels):
        write_counters(table, kernels, {"SQ_WAVES": 100, "FETCH_SIZE": 0.5})
        said = json.loads(run(HIPBOARD, "convert", "--counters", table, file, "-o", out, "--json", "--force"))
        [path] = map(Path, said["files"])
        kernels = [e for e in json.loads(path.read_text())["traceEvents"] if e.get("cat") == "kernel"]
        return said, path, [e["args"].get("SQ_WAVES") for e in kernels], [e["args"].get("FETCH_SIZE") for e in kernels]

    # The trace's last event was the first to run.
    said, path, waves, sizes = joined(names[::-1])
    assert waves == [106, 105, 104, 103, 102, 101] and sizes == [6.5, 5.5, 4.5, 3.5, 2.5, 1.5]
    assert (said["changed"]["counters"], "no_counters" in said["unknown"]) == (6, False)
    shown = run(HIPBOARD, "view", path, "--view", "kernel")
    assert "SQ_WAVES" in shown and "FETCH_SIZE" in shown
    # One run stopped earlier than the other: its kernels are the other's first.
    said, _, waves, _ = joined(names[::-1][:2])
    assert waves == [None] * 4 + [102, 101] and said["unknown"]["no_counters"] == 4
    # In another order, and a name that comes once more: the others are counted by name.
    said, _, waves, _ = joined(["gemm", "gemm", "gemm", "relu", "relu", "relu", "void softmax<float>(float*)"])
    assert waves == [103, None, 102, 107, None, 101] and said["unknown"]["no_counters"] == 2

    table.write_text(table.read_text().splitlines()[0] + "\n")
    done = subprocess.run([HIPBOARD, "convert", "--counters", table, file, "-o", out, "--force"], capture_output=True,
                          text=True)
    assert done.returncode == 1 and str(table) in done.stderr


def test_counters_of_two_processes(tmp_path):
    """Each may have counters of its own; of whom one that both have is, nobody knows."""
    file, table, out = tmp_path / "trace.json", tmp_path / "other_counter_collection.csv", tmp_path / "out"
    file.write_text(json.dumps({"traceEvents": [
        {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 1, "ts": 100 * i, "dur": 10,
         "args": {"device": 0, "stream": 1, "correlation": i + 1}} for i, name in enumerate(["gemm", "relu"])]}))
    texts = []
    for process, counter in (7, "SQ_WAVES"), (8, "FETCH_SIZE"):
        write_counters(table, ["gemm", "relu"], {counter: 100 * process})
        head, *rows = table.read_text().splitlines()
        texts.append([row.replace('"7","7"', f'"{process}","{process}"') for row in rows])
    table.write_text("\n".join([head, *texts[0], *texts[1], ""]))
    said = json.loads(run(HIPBOARD, "convert", "--counters", table, file, "-o", out, "--json"))
    kernels = [e["args"] for e in json.loads(Path(said["files"][0]).read_text())["traceEvents"] if e.get("cat") == "kernel"]
    assert [(k["SQ_WAVES"], k["FETCH_SIZE"]) for k in kernels] == [(701, 801), (702, 802)]
    assert said["changed"]["counters"] == 2
    table.write_text(table.read_text().replace("FETCH_SIZE", "SQ_WAVES"))
    done = subprocess.run([HIPBOARD, "convert", "--counters", table, file, "-o", tmp_path / "none"], capture_output=True,
                          text=True)
    assert done.returncode == 1 and f"{table}: SQ_WAVES of two processes: name the file of one" in done.stderr
    assert not (tmp_path / "none").exists()


def test_what_lies_too_deep_is_hidden_and_its_calls_are_the_last_ones(tmp_path):
    """150 operators within each other are shown: of some more the plugin does not come back."""
    depth, most = 156, 150
    operators = [{"ph": "X", "cat": "cpu_op", "name": f"op{i}", "pid": 1, "tid": 1, "ts": i, "dur": 1000 - 2 * i,
                  "args": {"External id": i + 1}} for i in range(depth)]
    call = {"ph": "X", "cat": "cuda_runtime", "name": "hipFree", "pid": 1, "tid": 1, "ts": 400, "dur": 5,
            "args": {"correlation": 1, "External id": depth}}
    file = tmp_path / "deep.json"
    file.write_text(json.dumps({"traceEvents": [*operators, call]}))
    said = json.loads(run(HIPBOARD, "convert", file, "-o", tmp_path / "out", "--json"))
    assert said["changed"]["scope_deep"] == depth - most
    made = json.loads(Path(said["files"][0]).read_text())["traceEvents"]
    shown = [e["name"] for e in made if e.get("cat") == "cpu_op" or e.get("cat") == "Operator"]
    assert shown == [f"op{i}" for i in range(most)]
    [free] = [e for e in made if e["name"] == "hipFree"]
    assert free["args"]["External id"] == most


@pytest.mark.parametrize("properties", ['{"": 1}', '[1, {"id": 0}]', '"x"', "7", "[[{}]]", "null", "[]", '[{"id": 0}]',
                                        '["x"], "deviceProperties": [{"id": 0}]'])
def test_odd_device_properties_leave_json(tmp_path, properties):
    """Of two GPUs, one of which has none."""
    file = tmp_path / "trace.json"
    kernels = ",".join('{"ph":"X","cat":"kernel","name":"k","pid":%d,"tid":7,"ts":%d,"dur":1,"args":{"device":%d}}' % (i, i, i)
                       for i in range(2))
    file.write_text('{"deviceProperties": %s, "traceEvents": [%s]}' % (properties, kernels))
    said = json.loads(run(HIPBOARD, "convert", file, "-o", tmp_path / "out", "--json"))
    made = json.loads(Path(said["files"][0]).read_text())["deviceProperties"]
    whole = [{"id": 0}, {"id": 1, "name": ""}] if '[{"id": 0}]' in properties else []
    assert made == (None if properties == "null" else whole)


def test_changes_are_counted(converted):
    name, said, _ = converted
    calls = sum(event["cat"] in CALLS for event in events(name))
    assert said["changed"]["runtime_category"] == calls
    if name == "mi250_minitoy":
        assert said["changed"]["scope_category"] == 1
        assert said["unknown"]["device_guessed"] == 1


@pytest.mark.parametrize("options, ending", [([], ""), (["--gzip"], ".gz")])
@pytest.mark.parametrize("dialect", ["tensorboard", "kineto"])
def test_own_files_stay_as_they_are(tmp_path, dialect, options, ending):
    made = tmp_path / "made"
    # One epoch is enough for traces, if not for the accuracy that the program wants.
    subprocess.run([BUILD / "samples/digits/digits", "--epochs", "1", "--logdir", made,
                    "--dialect", dialect, *options], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, timeout=600, check=False)
    files = sorted(made.glob(f"*.pt.trace.json{ending}"))
    assert files
    again = tmp_path / "again"
    run(HIPBOARD, "convert", *files, "-o", again, "--dialect", dialect, *options)
    for path in files:
        assert (again / path.name).read_bytes() == path.read_bytes()


def test_a_directory_keeps_its_order(tmp_path):
    inputs = tmp_path / "in"
    for place in ("a/x.1.json", "b/c/x.1.json.gz"):
        (inputs / place).parent.mkdir(parents=True)
        text = gzip.decompress(source("triton_example").read_bytes())
        (inputs / place).write_bytes(text if place.endswith("json") else gzip.compress(text))
    (inputs / "notes.txt").write_text("no trace")
    out = inputs / "converted"
    link = tmp_path / "link"
    link.symlink_to(inputs)
    for named in (inputs, f"{inputs}/", link):
        said = run(HIPBOARD, "convert", named, "-o", f"{out}/", "--force")
        assert f" -> {out}/a/x.1.pt.trace.json\n" in said
        made = sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())
        assert made == ["a/x.1.pt.trace.json", "b/c/x.1.pt.trace.json"]
    empty = tmp_path / "empty"
    empty.mkdir()
    done = subprocess.run([HIPBOARD, "convert", empty, "-o", out], capture_output=True, timeout=600)
    assert done.returncode == 1 and b"no .json" in done.stderr


def test_standard_input(tmp_path):
    text = source("triton_example").read_bytes()
    subprocess.run([HIPBOARD, "convert", "-", "-o", tmp_path / "out"], input=text, check=True,
                   stdout=subprocess.DEVNULL, timeout=600)
    run(HIPBOARD, "convert", source("triton_example"), "-o", tmp_path / "out")
    made = [(tmp_path / f"out/{name}.pt.trace.json").read_bytes()
            for name in ("trace", "triton_example")]
    assert made[0] == made[1]


@pytest.mark.parametrize("command", ["view", "table", "check", "convert"])
def test_an_interrupt_leaves_nothing_behind(command, tmp_path):
    big = tmp_path / "big.pt.trace.json"
    event = '{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":%d,"dur":1,"args":{}},\n'
    with open(big, "w") as file:
        file.write('{"traceEvents":[\n')
        for i in range(2_000_000):
            file.write(event % (2 * i))
        file.write("{}]}")
    options = ["-o", tmp_path / "out"] if command == "convert" else []
    process = subprocess.Popen([HIPBOARD, command, big, *options], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=600)
    assert process.returncode in (-signal.SIGINT, 0), said  # 0: it was faster than the signal
    assert b"%" not in said  # no progress where there is no terminal
    left = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert left == ["big.pt.trace.json"] or process.returncode == 0


@pytest.mark.parametrize("arguments, message", [
    (["x.json"], "no log directory"),
    (["-o", "d"], "no trace"),
    (["-o", "d", "--steps", "3:1", "x.json"], "steps '3:1'"),
    (["-o", "d", "--time", "3:1", "x.json"], "time '3:1'"),
    (["-o", "d", "--time", "3", "x.json"], "time '3'"),
    (["-o", "d", "--max-size", "many", "x.json"], "size 'many'"),
    (["-o", "d", "--dialect", "chrome", "x.json"], "dialect 'chrome'"),
])
def test_wrong_usage_is_told(arguments, message):
    done = subprocess.run([HIPBOARD, "convert", *arguments], capture_output=True, text=True,
                          timeout=600)
    assert done.returncode == 2 and message in done.stderr


def test_one_bad_trace_does_not_keep_others_from_being_converted(tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text("nothing")
    done = subprocess.run([HIPBOARD, "convert", bad, source("triton_example"), "-o",
                           tmp_path / "out"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 1 and "bad.json" in done.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["triton_example.pt.trace.json"]


def launch(at, name, ids, correlation):
    """An operator around another one, a call in that, and the kernel that it launches."""
    def event(cat, name, ts, dur, tid=1, pid=1, **args):
        return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
                "args": {key.replace("_", " "): value for key, value in args.items()}}
    kernel = dict(device=0, stream=7, correlation=correlation, grid=[1, 1, 1], block=[64, 1, 1])
    return [event("cpu_op", "outer_" + name, at, 50, External_id=10 * correlation),
            event("cpu_op", name, at + 5, 20, External_id=10 * correlation + 1),
            event("cuda_runtime", "cudaLaunchKernel", at + 7, 19, correlation=correlation, **ids),
            event("kernel", "k", at + 15, correlation, 7, 0, **kernel, **ids)]


@pytest.mark.parametrize("correlation, ids", [(3, {}), (3, {"External_id": 3}),
                                              (101, {"External_id": 101})])
def test_calls_without_a_link_belong_to_the_operator_that_they_ran_in(correlation, ids, tmp_path):
    """PyTorch 2.0 to 2.4 wrote a call's own correlation as its External id, which may be an
    operator's by accident; ROCm's newest profilers write none."""
    trace = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "numSms": 4}], "traceEvents": [
        *launch(1000, "linked", {"External_id": 51}, 5), *launch(1100, "mm", ids, correlation),
        *launch(1200, "by_accident", {"External_id": 78}, 7),
        *launch(1300, "outside", {"External_id": 40}, 40)[2:],
        {"ph": "X", "cat": "user_annotation", "name": "nccl:all_reduce", "pid": 1, "tid": 1,
         "ts": 1106, "dur": 18, "args": {"External id": 999, "Input Dims": [[4]],
                                         "Input type": ["float"]}}]}
    trace["traceEvents"][9]["args"]["External id"] = 101
    trace["traceEvents"][8]["args"]["External id"] = 40
    (tmp_path / "in.json").write_text(json.dumps(trace))
    said = json.loads(run(HIPBOARD, "convert", tmp_path / "in.json", "-o", tmp_path / "run",
                          "--json"))
    [path] = (tmp_path / "run").iterdir()
    times = {op.name: op.self_device_duration for op in profile(path).op_list_groupby_name}
    assert times == {"outer_linked": 0, "linked": 5, "outer_mm": 0, "mm": correlation,
                     "outer_by_accident": 0, "by_accident": 7}
    assert said["changed"]["call_linked"] == 2 and said["changed"]["call_outside"] == 1
    assert said["unknown"]["no_operator"] == 1


def kernel_time_by_operator(data):
    return sum(kernel.total_duration for kernel in data.kernel_list_groupby_name_op)


def test_work_of_calls_in_no_operator_is_not_dropped(tmp_path):
    """The plugin drops what it cannot link; DeepSeek's training trace lost three quarters of its
    kernels' time so."""
    trace = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "numSms": 4}], "traceEvents": [
        *launch(1000, "linked", {"External_id": 51}, 5),
        *launch(1100, "outside", {"External_id": 999}, 40)[2:]]}
    (tmp_path / "in.json").write_text(json.dumps(trace))
    run(HIPBOARD, "convert", tmp_path / "in.json", "-o", tmp_path / "run")
    [path] = (tmp_path / "run").iterdir()
    assert kernel_time_by_operator(profile(path)) == 5 + 40


def test_ids_of_several_ranks_do_not_mix(tmp_path):
    """One file with what two processes wrote, each counting from one on."""
    events = []
    for rank in range(2):
        for event in launch(1000 + 3 * rank, f"rank{rank}", {"External_id": 51}, 5):
            kernel = event["cat"] == "kernel"
            event["pid"] = rank if kernel else 700 + rank
            event["tid"] = 7 if kernel else 700 + rank
            if kernel:
                event["args"]["device"] = rank
                event["dur"] += 10 * rank
            events.append(event)
    properties = [{"id": i, "numSms": 4} for i in range(2)]
    (tmp_path / "in.json").write_text(json.dumps({"deviceProperties": properties,
                                                  "traceEvents": events}))
    said = json.loads(run(HIPBOARD, "convert", tmp_path / "in.json", "-o", tmp_path / "run",
                          "--json"))
    [path] = (tmp_path / "run").iterdir()
    times = {op.name: op.self_device_duration for op in profile(path).op_list_groupby_name}
    assert times == {"outer_rank0": 0, "rank0": 5, "outer_rank1": 0, "rank1": 15}
    assert said["changed"]["process_ids"] == 4
    shown = json.loads(run(HIPBOARD, "view", tmp_path / "in.json", "--view", "operator", "--json"))
    assert {row["Operator"]: row["Device self (us)"] for row in shown["Operators"]
            if row["Device self (us)"]} == {"rank0": 5, "rank1": 15}


def test_odd_events_become_json_that_the_plugin_takes(tmp_path):
    """rocprof begins its list with {}, Ascend's profiler puts times in quotes."""
    trace = {"deviceProperties": [{"id": 0, "numSms": 4}], "traceEvents": [
        {}, {"ph": "X"}, {"ph": "X", "cat": "kernel", "name": "k", "ts": 130, "dur": 7, "tid": 7},
        {"ph": "X", "cat": "cpu_op", "name": "quoted", "ts": "100.125", "dur": "50", "tid": "3",
         "pid": 1, "args": {"External id": 1}},
        {"ph": "i", "name": "[memory]", "ts": "110", "tid": "3", "pid": 1, "s": "t",
         "args": {"Device Type": 6, "Device Id": 0, "Addr": 1, "Bytes": "512",
                  "Total Allocated": "512", "Total Reserved": "1024"}},
        {"ph": "i", "name": "[memory]", "ts": 111, "tid": 3, "pid": 1, "s": "t", "args": []}]}
    (tmp_path / "in.json").write_text(json.dumps(trace))
    run(HIPBOARD, "convert", tmp_path / "in.json", "-o", tmp_path / "run")
    [path] = (tmp_path / "run").iterdir()
    events = json.loads(path.read_text())["traceEvents"]
    assert events[0] == {"name": ""} and events[2]["args"]["device"] == 0
    assert events[3] == {**trace["traceEvents"][3], "ts": 100.125, "dur": 50, "tid": 3}
    assert events[4]["args"] == {"Device Type": 1, "Device Id": 0, "Addr": 1, "Bytes": 512,
                                 "Total Allocated": 512, "Total Reserved": 1024}
    # Of no device: the plugin, which takes records of memory by their phase, may lose the file by it.
    assert (events[5]["ph"], events[5]["args"]) == ("I", {})
    [op] = profile(path).op_list_groupby_name
    assert (op.name, op.host_duration) == ("quoted", 50)
    said = json.loads(run(HIPBOARD, "convert", path, "-o", tmp_path / "again", "--json"))
    assert not said["changed"]


def test_a_trace_of_something_else_is_told(tmp_path):
    (tmp_path / "in.json").write_text(json.dumps(
        [{"ph": "X", "cat": "v8", "name": "compile", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]))
    said = run(HIPBOARD, "convert", tmp_path / "in.json", "-o", tmp_path / "run")
    assert "no event of a kind that PyTorch's profiler writes" in said


@pytest.mark.parametrize("properties, dims", [(7, [[4]]), ({"a": 1}, None), ([[1]], {"a": [1]}),
                                              ("", 3), ([{"id": 0}, 2], [[4]])])
def test_odd_properties_and_inputs_lose_no_file(properties, dims, tmp_path):
    collective = launch(1000, "nccl:all_reduce", {"External_id": 31}, 3)
    collective[1]["args"].update({"Input Dims": dims, "Input type": ["float"]})
    (tmp_path / "in.json").write_text(json.dumps({"deviceProperties": properties,
                                                  "traceEvents": collective}))
    run(HIPBOARD, "convert", tmp_path / "in.json", "-o", tmp_path / "run/run")
    run(HIPBOARD, "check", tmp_path / "run")  # exit status 1: a file or run is lost


@pytest.mark.parametrize("least", [1000, 2**40, 10**18 - 1, 2**62])
def test_ids_of_any_size_link_and_are_exported(least, tmp_path):
    at = {"pid": 100, "tid": 1, "ph": "X"}
    events = []
    for i in range(3):
        ids = {"External id": least + i, "correlation": least + 10 + i}
        events += [{**at, "cat": "cpu_op", "name": "aten::mm", "ts": 100 * i, "dur": 50, "args": {"External id": least + i}},
                   {**at, "cat": "cuda_runtime", "name": "hipLaunchKernel", "ts": 100 * i + 10, "dur": 5, "args": ids},
                   {**at, "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 100 * i + 20, "dur": 9,
                    "args": {**ids, "device": 0, "stream": 7, "grid": [1, 1, 1], "block": [64, 1, 1]}}]
    file = tmp_path / "big.pt.trace.json"
    file.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "numSms": 4}], "traceEvents": events}))
    said = run(HIPBOARD, "convert", file, "-o", tmp_path / "out")
    assert "whose call is not there" not in said and "outside operators" not in said
    run(HIPBOARD, "export", "--format", "pftrace", file, "-o", tmp_path / "x.pftrace")
    back = json.loads(run(HIPBOARD, "import", "--json", tmp_path / "x.pftrace", "-o", tmp_path / "back"))
    assert [back[what] for what in ("kernels", "calls", "ranges", "linked")] == [3, 3, 3, 3]


def test_what_another_value_is_given_is_not_taken_back_for_its_quotes(tmp_path):
    """Of a process's thread that another's is called like, and of a length that is trimmed."""
    def scope(pid, ts, dur, number, tid="7"):
        return {"ph": "X", "cat": "cpu_op", "name": f"op{number}", "pid": pid, "tid": tid, "ts": ts, "dur": dur,
                "args": {"External id": number}}
    (tmp_path / "in.json").write_text(json.dumps({"traceEvents": [
        scope(1, 0, 100, 1), scope(1, 50, "50.001", 2), scope(2, 0, 100, 3), scope(2, "10", "20", 4)]}))
    said = json.loads(run(HIPBOARD, "convert", tmp_path / "in.json", "-o", tmp_path / "out", "--json"))
    made = json.loads(Path(said["files"][0]).read_text())["traceEvents"]
    assert [e["dur"] for e in made] == [100, 50, 100, 20]
    threads = [e["tid"] for e in made]
    assert threads[0] == threads[1] != threads[2] == threads[3]
    again = json.loads(run(HIPBOARD, "convert", said["files"][0], "-o", tmp_path / "again", "--json"))
    assert again["changed"] == {}


def test_what_begins_with_a_zero_byte_is_no_number(tmp_path):
    (tmp_path / "in.json").write_bytes(b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "x", "pid": 1, "tid": 1, '
                                       b'"ts": "\0 Step", "dur": 5, "args": {}}]}')
    said = json.loads(run(HIPBOARD, "convert", tmp_path / "in.json", "-o", tmp_path / "out", "--json"))
    [made] = json.loads(Path(said["files"][0]).read_text())["traceEvents"]
    assert (made["cat"], made["ts"]) == ("outside_tree", "\0 Step")
