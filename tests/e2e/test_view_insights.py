# SPDX-License-Identifier: MIT
"""What `hipboard view` tells beyond the plugin, against HolisticTraceAnalysis, another reader of
Kineto traces, and a real trace of an AMD GPU."""
import gzip
import json
import random
import re
import subprocess
import warnings

import pytest

from support import BUILD, ROOT

MI250 = ROOT / "tests/data/mi250_minitoy.json.gz"


def view(name, path, *options):
    done = subprocess.run([BUILD / "tools/hipboard/hipboard", "view", "--view", name, "--json",
                           "--top", "0", *map(str, options), path],
                          capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# ---- a real trace ----

def test_an_mi250s_matrix_cores():
    tables = view("classes", MI250)
    gemm = [row for row in tables["Kernels"] if row["Class"] == "gemm"]
    assert gemm and all("_MI16x16x1_" in row["Kernel"] and row["Matrix"] == "yes" for row in gemm)
    assert {row["Matrix"] for row in tables["Kernels"]} == {"yes", "unknown"}
    classes = {row["Class"]: row for row in tables["Kernel classes"]}
    assert classes["gemm"]["Matrix cores (%)"] == 100
    assert classes["elementwise"]["Matrix cores (%)"] is None
    assert sum(row["Share (%)"] for row in classes.values()) == pytest.approx(100)
    assert "other" not in classes


def test_kernels_of_one_class_with_and_without_matrix_cores(tmp_path):
    kernels = [("Cijk_Alik_Bljk_SB_MT64x32x32_MI16x16x1", 50), ("ampere_sgemm_128x64_tn", 30), ("my_gemm", 15),
               ("relu", 5)]
    path = tmp_path / "classes.json"
    path.write_text(json.dumps({"traceEvents": [
        {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 100 * i, "dur": dur,
         "args": {"device": 0, "stream": 7, "correlation": i + 1}} for i, (name, dur) in enumerate(kernels)]}))
    tables = view("classes", path)
    assert {row["Kernel"]: row["Matrix"] for row in tables["Kernels"]} == {
        kernels[0][0]: "yes", kernels[1][0]: "no", "my_gemm": "unknown", "relu": "unknown"}
    [gemm, relu] = tables["Kernel classes"]
    assert [gemm[name] for name in ("Class", "Kernels", "Calls", "Total (us)", "Share (%)")] == ["gemm", 3, 3, 95, 95]
    parts = {name: value for name, value in gemm.items() if name not in ("Class", "Kernels", "Calls", "Total (us)",
                                                                         "Share (%)")}
    assert list(parts.values()) == pytest.approx([5000 / 95, 3000 / 95, 1500 / 95]), parts
    assert relu["Class"] == "elementwise" and [relu[name] for name in parts] == [None] * 3


def test_what_a_roofline_leaves_out(tmp_path):
    """A kernel of 3 us in an operator with inputs, one of 1 us in one without, one of 4 us in none."""
    def work(i, dur):
        return [{"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 9, "tid": 9, "ts": 10 * i + 1,
                 "dur": 1, "args": {"correlation": i + 1, "External id": i + 1}},
                {"ph": "X", "cat": "kernel", "name": f"k{i}", "pid": 0, "tid": 7, "ts": 100 + 10 * i, "dur": dur,
                 "args": {"device": 0, "stream": 7, "correlation": i + 1}}]

    def operator(i, **args):
        return {"ph": "X", "cat": "cpu_op", "name": f"op{i}", "pid": 9, "tid": 9, "ts": 10 * i, "dur": 5,
                "args": {"External id": i + 1, **args}}
    inputs = {"Input Dims": [[1000]], "Input type": ["float"]}
    some = [operator(0, **inputs), *work(0, 3), operator(1), *work(1, 1), *work(2, 4)]
    for events, note in ((some, "Of the kernels' time 62.5 % is in no operator that tells FLOPs or inputs."), (some[:3], "")):
        path = tmp_path / "trace.json"
        path.write_text(json.dumps({"traceEvents": events}))
        said = subprocess.run([BUILD / "tools/hipboard/hipboard", "view", "--view", "roofline", path], text=True,
                              capture_output=True, check=True).stdout
        assert [line for line in said.splitlines() if line.startswith("Of the kernels")] == [note][:bool(note)]


# The columns by which --name chooses rows; of tables that are not named all rows stay.
NAMED = {"classes": {"Kernel classes": ["Class"], "Kernels": ["Kernel", "Class"]},
         "gpu": {"Copies": ["Copy"], "Idle": ["Operator", "Call"], "Gaps": ["Next work", "Operator", "Call"]},
         "kernel": {"Kernels": ["Kernel"]}, "operator": {"Operators": ["Operator"]},
         "memory": {"Memory": ["Operator"]}, "module": {"Modules": ["Module"]}}


@pytest.mark.parametrize("name", NAMED)
def test_rows_by_name(name):
    trace = ROOT / "tests/data/torch-2.13-cpu.pt.trace.json" if name in ("memory", "module") else MI250
    every = view(name, trace)
    for pattern in "gemm", "^aten::add", "Memcpy", "hipLaunch", "Linear|^aten::mm$", "^nothing$":
        chosen = view(name, trace, "--name", pattern)
        assert chosen.keys() == every.keys()
        for table, rows in every.items():
            columns = NAMED[name].get(table)
            assert chosen[table] == (rows if not columns else [
                row for row in rows if any(re.search(pattern, row[column]) for column in columns)]), (pattern, table)


def test_what_an_mi250_waited_for():
    tables = view("gpu", MI250)
    [gpu] = tables["GPU time"]
    assert gpu["GPU"] == "2" and gpu["Busy (%)"] == pytest.approx(1.67, abs=0.01)
    top = tables["Idle"][0]
    assert (top["Operator"], top["Call"], top["Why"]) == ("aten::add_", "hipLaunchKernel", "late")
    assert max(tables["Gaps"], key=lambda gap: gap["Gap (us)"])["Gap (us)"] == pytest.approx(
        top["Largest (us)"])


def test_copies_and_their_speed(tmp_path):
    def copy(name, dur, correlation, cat="gpu_memcpy", gpu=0, **args):
        return {"ph": "X", "cat": cat, "name": name, "pid": gpu, "tid": 7, "ts": 100 * correlation,
                "dur": dur, "args": {"correlation": correlation, **args}}
    path = tmp_path / "copies.json"
    path.write_text(json.dumps({"traceEvents": [
        copy("Memcpy HtoD (Pinned -> Device)", 10, 1, bytes=200000),
        copy("Memcpy HtoD (Pinned -> Device)", 30, 2, bytes=5 << 32),
        copy("Memcpy HtoD (Pinned -> Device)", 20, 3, gpu=1, bytes=20000),
        copy("Memcpy DtoH (Device -> Pinned)", 5, 4), copy("Memcpy DtoH (Device -> Pinned)", 4, 5),
        copy("Memset (Device)", 2, 6, "gpu_memset", bytes=4000)]}))
    rows = {(row.pop("Copy"), row.pop("GPU")): list(row.values())
            for row in view("gpu", path)["Copies"]}
    size = 200000 + (5 << 32)
    assert rows == {("Memcpy HtoD (Pinned -> Device)", "0"): [2, size, 40, 30, size / 40 / 1e3],
                    ("Memcpy HtoD (Pinned -> Device)", "1"): [1, 20000, 20, 20, 1],
                    ("Memcpy DtoH (Device -> Pinned)", "0"): [2, None, 9, 5, None],
                    ("Memset (Device)", "0"): [1, 4000, 2, 2, 2]}
    [kind] = view("gpu", MI250)["Copies"]
    with gzip.open(MI250) as file:
        calls = [e["args"] for e in json.load(file)["traceEvents"]
                 if e["name"] == "hipMemcpyWithStream"]
    assert kind["Calls"] == len(calls) == 2
    assert kind["Size (bytes)"] == sum(int(args["size"]) for args in calls)


def test_findings_with_their_evidence():
    findings = {row["Finding"]: row for row in view("overview", MI250)["Findings"]}
    assert {"idle", "launch-bound", "single-precision"} <= set(findings)
    assert "Cijk_" in findings["single-precision"]["Evidence"]
    text = subprocess.run([BUILD / "tools/hipboard/hipboard", "view", MI250], capture_output=True,
                          timeout=600).stdout.decode()
    assert "- launch-bound, 98 %: Kernels are short" in text
    assert "because the next launch came late" in " ".join(text.split())


def test_long_names_are_cut_between_characters(tmp_path):
    path = tmp_path / "gemm.json"
    path.write_text(json.dumps({"traceEvents": [
        {"ph": "X", "cat": "kernel", "name": "gemm_" + "\u2603" * 40, "pid": 0, "tid": 7, "ts": 1, "dur": 99,
         "args": {"device": 0, "stream": 7, "correlation": 1}}]}))
    [finding] = [row for row in view("overview", path)["Findings"] if row["Finding"] == "no-matrix-cores"]
    assert finding["Evidence"].endswith("gemm_" + "\u2603" * 18 + "...")


def distributed_trace(path, forward, collective, peak):
    """Two GPUs that compute in one step, a model's forward, a collective, and memory."""
    def event(name, category, ts, dur, **args):
        return {"ph": "X", "name": name, "cat": category, "pid": 9, "tid": 9, "ts": ts, "dur": dur,
                "args": args}
    events = [event("ProfilerStep#1", "user_annotation", 0, 1000),
              event(forward, "cpu_op", 10, 500), event(collective, "cpu_op", 600, 100),
              {"ph": "i", "name": "[memory]", "pid": 9, "tid": 9, "ts": 50, "s": "t",
               "args": {"Device Type": 1, "Device Id": 1, "Addr": 1, "Bytes": peak,
                        "Total Allocated": peak, "Total Reserved": peak}}]
    for gpu in (0, 1):
        events.append(dict(event("scale", "kernel", 100 + gpu, 800, device=gpu, stream=7,
                                 correlation=gpu + 1), pid=gpu, tid=7))
    properties = [{"id": gpu, "name": "gfx90a", "totalGlobalMem": 64 << 30} for gpu in (0, 1)]
    path.write_text(json.dumps({"deviceProperties": properties, "traceEvents": events}))
    return {row["Finding"]: row["Evidence"] for row in view("overview", path)["Findings"]}


def test_findings_about_several_gpus(tmp_path):
    path = tmp_path / "rank.pt.trace.json"
    found = distributed_trace(path, "DataParallel.forward", "aten::mm", 60 << 30)
    assert found["one-process"] == "calls of DataParallel.forward: 1; GPUs that compute: 2"
    assert found["full-memory"] == "allocated at the peak: 93.8 % of the 64.0 GiB of GPU 1"
    assert "host-collectives" not in found
    found = distributed_trace(path, "DistributedDataParallel.forward", "gloo:all_reduce", 50 << 30)
    assert found["host-collectives"].startswith("collectives of gloo: 1, of RCCL or NCCL: 0;")
    assert not {"one-process", "full-memory"} & set(found)
    found = distributed_trace(path, "DistributedDataParallel.forward", "nccl:all_reduce", 1)
    assert not {"one-process", "host-collectives", "full-memory"} & set(found)


def test_a_users_classes(tmp_path):
    rules = tmp_path / "rules"
    rules.write_text("# of this program\nloss mse_\nbias reduce_kernel*sum_functor\n")
    names = {row["Class"] for row in view("classes", MI250, "--classes", rules)["Kernels"]}
    assert {"bias", "loss", "gemm"} <= names
    rules.write_text("gemm\n")
    done = subprocess.run([BUILD / "tools/hipboard/hipboard", "view", "--view", "classes",
                           "--classes", rules, MI250], capture_output=True, timeout=600)
    assert done.returncode == 1 and f"{rules}:1: a pattern is missing" in done.stderr.decode()


# ---- another reader ----

def random_gpu_trace(seed):
    """Kernels, copies and collectives on several streams, launched early, late, or by nobody."""
    rng = random.Random(seed)
    events = [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 9, "tid": 9,
               "ts": 0, "dur": 90000, "args": {"External id": 1}}]
    ends = {stream: 100 for stream in (3, 5, 7)}
    for correlation in range(1000, 1000 + rng.randint(20, 120)):
        stream = rng.choice(list(ends))
        start = ends[stream] + rng.choice([0, 1, 5, 40, 200])
        ends[stream] = start + rng.randint(1, 80)
        cat, name = rng.choice([("kernel", "ncclDevKernel_AllReduce_Sum_f32"), ("kernel", "Cijk_A"),
                                ("kernel", "void at::native::elementwise_kernel<128>"),
                                ("gpu_memcpy", "Memcpy HtoD (Host -> Device)"),
                                ("gpu_memset", "Memset (Device)")])
        args = {"External id": correlation, "device": 0, "stream": stream,
                "correlation": correlation}
        events.append({"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": stream, "ts": start,
                       "dur": ends[stream] - start, "args": args})
        launch = max(0, start - rng.choice([2, 10, 50, 150]))
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 9,
                       "tid": 9, "ts": launch, "dur": 1,
                       "args": {"External id": correlation, "correlation": correlation}})
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "AMD Instinct MI300X"}],
            "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1},
            "traceEvents": events}


@pytest.mark.parametrize("seed", range(6))
def test_times_are_those_of_hta(seed, tmp_path):
    hta = pytest.importorskip("hta.trace_analysis")
    path = tmp_path / "rank0.json.gz"
    path.write_bytes(gzip.compress(json.dumps(random_gpu_trace(seed)).encode()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        analysis = hta.TraceAnalysis(trace_files={0: str(path)}, trace_dir=str(tmp_path),
                                     include_last_profiler_step=True)
        whole = analysis.get_temporal_breakdown(visualize=False).iloc[0]
        overlap = analysis.get_comm_comp_overlap(visualize=False).iloc[0]
        idle, _ = analysis.get_idle_time_breakdown(ranks=[0], visualize=False)
    tables = view("gpu", path)
    [gpu] = tables["GPU time"]
    assert gpu["Span (us)"] == whole["kernel_time(us)"]
    assert gpu["Idle (us)"] == whole["idle_time(us)"]
    assert gpu["Computation (us)"] == whole["compute_time(us)"]
    exposed = 100 * gpu["Exposed comm (us)"] / gpu["Comm (us)"]
    assert 100 - exposed == pytest.approx(overlap["comp_comm_overlap_pctg"], abs=0.01)
    late = idle[idle["idle_category"] == "host_wait"].set_index("stream")["idle_time"]
    rest = idle[idle["idle_category"] != "host_wait"].groupby("stream")["idle_time"].sum()
    for stream in tables["Streams"]:
        number = int(stream["Stream"])
        assert stream["Late (us)"] == late.get(number, 0)
        assert stream["Queued (us)"] == rest.get(number, 0)
