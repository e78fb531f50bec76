# SPDX-License-Identifier: MIT
"""What holds for every command of `hipboard`."""
import csv
import gzip
import io
import json
import re
import subprocess

import pytest

from support import BUILD, ROOT

HIPBOARD = BUILD / "tools/hipboard/hipboard"
DATA = ROOT / "tests/data"
TRACE = DATA / "mi250_minitoy.json.gz"


@pytest.mark.parametrize("command", [
    ["view", TRACE], ["check", TRACE], ["info"], ["compare", TRACE, TRACE], ["table", TRACE],
    ["memory", TRACE], ["steps", TRACE], ["stacks", "--scopes", TRACE], ["query", DATA, "runs"]])
def test_output_that_cannot_be_written_is_a_failure(command):
    """What a full disk takes from a report must not look like success to a script."""
    with open("/dev/full", "w") as full:
        done = subprocess.run([HIPBOARD, *command], stdout=full, stderr=subprocess.PIPE, text=True,
                              timeout=600)
    assert done.returncode == (3 if command[0] == "compare" else 1)
    assert f"hipboard {command[0]}: cannot write: No space left on device" in done.stderr


def ask(*words):
    return subprocess.run([HIPBOARD, *words], capture_output=True, text=True, timeout=600)


@pytest.fixture
def sampled(tmp_path):
    """The trace as if one in eight kernels had been timed."""
    trace = json.loads(gzip.decompress(TRACE.read_bytes()))
    path = tmp_path / "sampled.json"
    path.write_text(json.dumps(trace | {"hipboard_kernel_sampling": 8}))
    return path


@pytest.mark.parametrize("words", [["table"], ["table", "--json"], ["steps"], ["steps", "--csv"],
                                   ["stacks", "--scopes"]])
def test_sums_over_sampled_kernels_are_marked(words, sampled):
    done, whole = ask(*words, sampled), ask(*words, TRACE)
    assert done.returncode == 0 and "timed in one of 8 launches" in done.stderr
    assert "timed in one of" not in whole.stderr


def test_totals_of_sampled_kernels_are_extrapolated_by_name(sampled):
    words = ["view", "--view", "kernel", "--csv", "--top", "0"]
    rows = list(csv.DictReader(io.StringIO(ask(*words, sampled).stdout)))
    assert rows
    for row in rows:
        assert float(row["Extrapolated total (us)"]) == pytest.approx(8 * float(row["Total (us)"]))
    assert "Extrapolated" not in ask(*words, TRACE).stdout


@pytest.mark.parametrize("words", [["view"], ["table"], ["stacks", "--scopes"], ["memory"],
                                   ["steps"]])
def test_damage_is_told_whoever_reads_it(words, tmp_path):
    path = tmp_path / "cut.json"
    path.write_bytes((DATA / "torch-2.13-cpu.pt.trace.json").read_bytes()[:30000])
    done = ask(*words, path)
    assert done.returncode == 0
    assert re.match(rf"hipboard {words[0]}: {re.escape(str(path))}: byte \d+: the text ends too "
                    r"early\n", done.stderr)


@pytest.mark.parametrize("words", [["view", "absent"], ["table", "absent"], ["check", "absent"],
                                   ["query", "absent", "runs"], ["stacks", "absent"],
                                   ["memory", "absent"], ["steps", "absent"]])
def test_what_is_not_there_is_named(words, tmp_path):
    done = subprocess.run([HIPBOARD, *words], cwd=tmp_path, capture_output=True, text=True,
                          timeout=600)
    assert done.returncode == 1 and not done.stdout
    assert done.stderr == (f"hipboard {words[0]}: cannot open 'absent': "
                           "No such file or directory\n")


@pytest.mark.parametrize("command", ["view", "stacks", "memory", "steps"])
def test_a_directory_without_traces_says_what_is_looked_for(command, tmp_path):
    done = ask(command, tmp_path)
    assert done.returncode == 1 and "is named *.pt.trace.json[.gz]" in done.stderr


def test_a_trace_of_nothing_has_no_view(tmp_path):
    path = tmp_path / "t.json"
    path.write_text('{"traceEvents": [{"ph": "M", "name": "process_name", "pid": 1, "args": {}}]}')
    done = ask("view", path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"hipboard view: {path}: no events\n"
    assert ask("view", "--view", "kernel", DATA / "torch-2.13-cpu.pt.trace.json").stdout == (
        "(nothing to show)\n")


MEMBERS = {
    "info": "hipboard runtime_path runtime_version driver_version backend backends devices",
    "table": "groups total groups.key groups.input_shapes groups.stack groups.count groups.flops "
             "groups.cpu_time_total groups.self_cpu_time_total groups.device_time_total "
             "groups.self_device_time_total groups.cpu_memory_usage groups.device_memory_usage",
    "memory": "file devices devices.device devices.peak_bytes devices.peak_us devices.end_bytes "
              "devices.left_bytes devices.held_at_peak devices.held_at_end.name "
              "devices.held_at_end.bytes devices.held_at_end.allocations devices.held_at_end.stack",
    "steps": "groups groups.group groups.run groups.worker groups.span groups.cycles "
             "groups.wall_us groups.parts.Step.mean_us groups.parts.CPU\u00a0Exec.p95_us "
             "slowest slowest.step slowest.start_us slowest.us.Step",
    "view": "file Average\u00a0step.Time\u00a0(us) Average\u00a0step.Share\u00a0(%)",
    "check": "path effect rule text event offset name",
    "compare": "baseline confidence runs.name runs.path runs.steps contrasts limits steps.name "
               "steps.unit steps.before.median steps.after.per_step steps.change steps.p "
               "steps.verdict operators kernels memory modules problems",
}


def member(value, path):
    """Of lists, the first element's."""
    for name in path.split("."):
        value = value[0] if isinstance(value, list) else value
        value = value[name.replace("\u00a0", " ")]
    return value


@pytest.mark.parametrize("command", MEMBERS)
def test_json_keeps_its_members(command):
    """Scripts rely on them; new ones may come."""
    trace = DATA / "torch-2.13-cpu.pt.trace.json"
    files = {"info": [], "compare": [trace, trace]}.get(command, [trace])
    text = ask(command, "--json", *files).stdout
    found = json.loads(text.splitlines()[0] if command == "check" else text)
    for path in MEMBERS[command].split(" "):
        member(found, path)


COMMANDS = ["record", "info", "table", "stacks", "memory", "steps", "view", "check", "compare",
            "convert", "query", "recover"]


def said(*words, status=0):
    done = subprocess.run([HIPBOARD, *words], capture_output=True, text=True, timeout=600)
    assert done.returncode == status, (words, done.stderr)
    return done.stderr if status else done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_terminal_and_is_the_same_by_every_name(command):
    text = said(command, "--help")
    assert text == said(command, "-h") == said("help", command)
    assert text.startswith(f"usage: hipboard {command} ") and "\n  -h, --help" in text
    assert all(len(line) <= 80 and line == line.rstrip() for line in text.splitlines())


@pytest.mark.parametrize("words", [["veiw"], ["help", "veiw"], ["--veiw"]])
def test_a_command_that_there_is_not(words):
    assert said(*words, status=2) == (
        f"hipboard: there is no command '{words[-1]}'; see `hipboard --help`\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_lists_just_what_is_understood(command):
    """Each option that --help names is known, takes a value just where --help says so, and may have
    only the values that --help lists where it lists them."""
    listed = re.findall(r"^  (?:-\w, )?--([\w-]+)(?: (\S+))?", said(command, "--help"), re.M)
    assert listed[-1] == ("help", "")
    for name, argument in listed[:-1]:
        lacking = said(command, f"--{name}" if argument else f"--{name}=value", status=2)
        assert f"'--{name}" in lacking and "unknown or lacks its value" in lacking
        if "|" in argument:
            refused = said(command, f"--{name}", "nonsense", status=2)
            assert f"--{name} 'nonsense': expected {argument}" in refused
    assert "is unknown" in said(command, "--nonsense", status=2)
