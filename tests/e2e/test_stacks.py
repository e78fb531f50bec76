# SPDX-License-Identifier: MIT
"""`hipboard stacks` against torch 2.13's export_stacks(), byte for byte, and its own folded forms."""
import gzip
import json
import subprocess
import threading

import pytest

torch = pytest.importorskip("torch")
from torch.profiler import record_function  # noqa: E402

from support import BUILD, ROOT, run  # noqa: E402
from torch_events import gpu_trace, record_with_stacks, torch_events  # noqa: E402

HIPBOARD = BUILD / "tools/hipboard/hipboard"


def ours(*words):
    return run(HIPBOARD, "stacks", *words)


def theirs(events, path, metric):
    events.export_stacks(str(path), metric)
    return path.read_text()


def training():
    model = torch.nn.Sequential(torch.nn.Linear(200, 300), torch.nn.ReLU(),
                                torch.nn.Linear(300, 5))
    for name in ("first; batch", "second batch"):
        with record_function(name):
            model(torch.randn(400, 200)).square().mean().backward()


def test_as_torch_writes(tmp_path):
    p = record_with_stacks(tmp_path / "t.json", training)
    p.export_stacks(str(tmp_path / "stacks"))
    expected = (tmp_path / "stacks").read_text()
    assert ours(tmp_path / "t.json") == expected and expected.count("training") > 10
    assert ours("--metric", "self_cpu_time_total", tmp_path / "t.json") == expected
    assert ours("--metric", "self_cuda_time_total", tmp_path / "t.json") == ""
    assert ours("-o", tmp_path / "mine", tmp_path / "t.json") == ""
    assert (tmp_path / "mine").read_text() == ours("-o", "-", tmp_path / "t.json") == expected
    assert ours(tmp_path / "t.json", tmp_path / "t.json") == 2 * expected


def test_python_functions_alone(tmp_path):
    """No operator has a stack, as there is none; torch gives the functions theirs."""
    def fibonacci(n):
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
    p = record_with_stacks(tmp_path / "t.json", lambda: fibonacci(11))
    assert not any(event["cat"] == "cpu_op" for event in complete(tmp_path / "t.json"))
    p.export_stacks(str(tmp_path / "stacks"))
    assert ours(tmp_path / "t.json") == (tmp_path / "stacks").read_text() != ""


def complete(path):
    return [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]


def test_backward_passes_of_several_threads(tmp_path):
    """Sequence numbers are each thread's own: arrows lead from a backward operator to the thread
    of its forward one."""
    models = [torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.ReLU()) for _ in range(4)]

    def train(model):
        for _ in range(3):
            model(torch.randn(8, 20)).sum().backward()

    def program():
        threads = [threading.Thread(target=train, args=(model,)) for model in models]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        train(models[0])
    p = record_with_stacks(tmp_path / "t.json", program, profile_all_threads=True)
    p.export_stacks(str(tmp_path / "stacks"))
    assert ours(tmp_path / "t.json") == (tmp_path / "stacks").read_text()
    forward = {event["tid"] for event in complete(tmp_path / "t.json")
               if event["name"] == "aten::linear"}
    assert len(forward) == 5


def add_stacks(path):
    trace = json.loads(path.read_text())
    for event in trace["traceEvents"]:
        if event.get("cat") == "cpu_op":
            event["args"]["Call stack"] = "net.py(7): f;a b.py(3):\tg;main.py(1): <module>;"
    path.write_text(json.dumps(trace))
    return trace


@pytest.mark.parametrize("metric", ["self_cpu_time_total", "self_cuda_time_total"])
def test_device_time(tmp_path, metric):
    path = tmp_path / "gpu.json"
    gpu_trace(path, False)
    events = torch_events(add_stacks(path))
    expected = theirs(events, tmp_path / "stacks", metric)
    assert "main.py(1):_<module>;a_b.py(3):_g;net.py(7):_f " in expected
    assert ours("--metric", metric, path) == expected
    assert ours("--metric", metric.replace("cuda", "hip"), path) == expected


def folded(text):
    return {stack: int(us) for stack, us in (line.rsplit(" ", 1) for line in text.splitlines())}


def test_folded_is_the_sum(tmp_path):
    p = record_with_stacks(tmp_path / "t.json", training)
    sums = {}
    for event in p.events():
        if event.stack:
            stack = ";".join("".join("_" if c in " ;\t\n" else c for c in frame)
                             for frame in reversed(event.stack))
            sums[stack] = sums.get(stack, 0) + event.self_cpu_time_total
    lines = folded(ours("--folded", tmp_path / "t.json", tmp_path / "t.json"))
    assert set(lines) >= {stack for stack, us in sums.items() if us >= 1}
    for stack, us in lines.items():
        assert us == pytest.approx(2 * sums[stack], abs=1)


def test_scopes(tmp_path):
    """Every event's own time, under the names of the events around it."""
    path = ROOT / "tests/data/mi250_minitoy.json.gz"
    with gzip.open(path) as file:
        events = torch_events(json.load(file))
    sums = {"self_cpu_time_total": {}, "self_device_time_total": {}}
    for event in events:
        names, outer = [], event
        while outer is not None:
            names.insert(0, outer.key.replace(" ", "_"))
            outer = outer.cpu_parent
        for metric, of_stack in sums.items():
            if event.device_type.name == "CPU":  # it has the time of what it launched
                stack = ";".join(names)
                of_stack[stack] = of_stack.get(stack, 0) + getattr(event, metric)
    for metric, expected in sums.items():
        lines = folded(ours("--scopes", "--folded", "--metric", metric, path))
        assert lines == {stack: int(us) for stack, us in expected.items() if us >= 1}
        assert any(";aten::addmm" in stack for stack in lines)


def test_device_work_of_no_operator_has_its_own_name(tmp_path):
    path = tmp_path / "gpu.json"
    gpu_trace(path, False)
    lines = folded(ours("--scopes", "--folded", "--metric", "self_cuda_time_total", path))
    assert lines["stray"] == 11
    assert not any("gemm" in stack for stack in lines)
    assert sum(lines.values()) == pytest.approx(sum(33.333 + i + 4.567 for i in range(40)) + 11, abs=9)


def test_a_log_directory(tmp_path):
    run_dir = tmp_path / "logs/run"
    run_dir.mkdir(parents=True)
    for span in (1, 2):
        gpu_trace(run_dir / f"w.{span}.pt.trace.json", False)
    one = folded(ours("--scopes", "--folded", run_dir / "w.1.pt.trace.json"))
    both = folded(ours("--scopes", "--folded", tmp_path / "logs"))
    assert set(one) == set(both)
    assert all(both[stack] == pytest.approx(2 * us, abs=1) for stack, us in one.items())


@pytest.mark.parametrize("words, status, message", [
    (["--metric", "time"], 2, "there is no metric 'time'"),
    (["--bogus"], 2, "'--bogus' is unknown"),
    ([], 0, "no events with call stacks; --scopes needs none"),
    (["none.json"], 1, "none.json"),
    (["-o", "/nowhere/x"], 1, "cannot open '/nowhere/x'"),
])
def test_what_it_says(tmp_path, words, status, message):
    path = tmp_path / "gpu.json"
    gpu_trace(path, False)
    done = subprocess.run([HIPBOARD, "stacks", path, *words], capture_output=True, text=True)
    assert done.returncode == status and message in done.stderr and done.stdout == ""


def test_what_is_read_is_not_written_over(tmp_path):
    trace, stacks = tmp_path / "t.json", tmp_path / "stacks"
    gpu_trace(trace, memory=False)
    before = trace.read_bytes()
    done = subprocess.run([HIPBOARD, "stacks", "--scopes", "-o", trace, trace], capture_output=True, text=True)
    assert done.returncode == 2 and "is what is read" in done.stderr
    assert trace.read_bytes() == before
    ours("--scopes", "-o", stacks, trace)
    made = stacks.read_text()
    assert made == ours("--scopes", trace) and made
    done = subprocess.run([HIPBOARD, "stacks", "-o", stacks, tmp_path / "not there"], capture_output=True, text=True)
    assert done.returncode == 1 and stacks.read_text() == made
    stacks.write_text(made + "more than there will be\n")
    ours("--scopes", "-o", stacks, trace)
    assert stacks.read_text() == made
