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
DESCRIBE = BUILD / "tools/hipboard/describe"
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


COMMANDS = ["record", "trigger", "info", "table", "stacks", "memory", "steps", "view", "report", "serve", "check", "compare",
            "convert", "export", "import", "pack", "unpack", "query", "ranks", "recover"]


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


def test_all_commands_are_listed():
    summary = "torch.profiler for native programs: record, look at and mend traces"
    alone = said(status=2)
    assert alone.startswith(f"{summary}\n\nusage: hipboard COMMAND [OPTIONS] [ARGUMENTS]\n\n  record ")
    assert alone.endswith("\n\n`hipboard COMMAND --help` explains a command.\n")
    assert re.findall(r"^  (\w+) +\S.*$", alone, re.M) == COMMANDS
    assert all(line.index(line.split()[1], 4) == 13 for line in alone.splitlines() if line.startswith("  "))
    whole = said("help")
    assert whole == said("--help") == said("-h") and whole.startswith(alone)
    notes = whole.removeprefix(alone)
    assert notes.startswith("\nExit status: 0 done, 1 failed, 2 wrong usage") and notes.endswith("`man hipboard`.\n")
    assert "\n\n" in notes.strip() and all(len(line) <= 80 for line in notes.splitlines())


def test_help_of_a_command_by_its_name_alone():
    assert said("help", "trigger", "more") == said("trigger", "--help")
    assert "Notes" not in said("unpack", "--help") and said("unpack", "--help").endswith("  -h, --help        this text\n")


def test_the_version():
    [version] = re.findall(r"version: '([0-9.]+)'", (ROOT / "meson.build").read_text())
    assert said("--version") == f"hipboard {version}\n"


# ---- the manual page and what bash completes, which the build makes of the same words

ESCAPES = {r"\e": "\\", r"\(aq": "'", r"\(ga": "`", r"\(ha": "^", r"\(ti": "~", r"\-": "-", r"\&": "", r"\fB": "", r"\fI": "",
           r"\fR": ""}


def plain_words(roff):
    """The words of a page, without its requests."""
    text = "\n".join("" if line.startswith(".") else line for line in roff.splitlines())
    unescaped = re.sub(r"\\(?:\(..|f[BIR]|.)", lambda found: ESCAPES[found[0]], text)
    assert not re.search(r"(?<!\\)['`^~]", text)  # a typographer's quotes would stand for these
    return unescaped.split()


@pytest.fixture(scope="module")
def manual():
    return subprocess.run([DESCRIBE, "man"], capture_output=True, text=True, check=True, timeout=600).stdout


def test_the_manual_has_the_words_of_help(manual):
    sections = dict(re.findall(r"^\.SS (\S+)\n((?:(?!\.SS |\.SH ).*\n)*)", manual, re.M))
    assert list(sections) == COMMANDS
    for command, text in sections.items():
        told = said(command, "--help")
        options, itself = re.split(r"^(?=  -h, --help)", told, maxsplit=1, flags=re.M)
        notes = itself.split("\n", 1)[1]
        assert plain_words(text) == (options + notes).removeprefix("usage:").split(), command


def test_the_manual_s_form(manual):
    lines = manual.splitlines()
    version = said("--version").split()[1]
    assert lines[:3] == [f'.TH HIPBOARD 1 "" "hipboard {version}" "User Commands"', ".SH NAME",
                         r"hipboard \- torch.profiler for native programs: record, look at and mend traces"]
    assert [line for line in lines if line.startswith(".SH")] == [
        f".SH {name}" for name in ("NAME", "SYNOPSIS", "COMMANDS", "ENVIRONMENT", "NOTES")]
    literal = False
    for i, line in enumerate(lines):
        if line in (".nf", ".fi"):
            assert literal == (line == ".fi"), i
            literal = line == ".nf"
        elif line and line[0] != ".":
            assert literal == (line[0] == " "), (i, line)
            assert line == line.rstrip()
        if line == ".br":  # between two lines of text that stay lines
            assert not literal and lines[i - 1][0] not in ". " and lines[i + 1][0] not in ". "
        if line == ".TP":
            assert re.match(r"\\fB.*\\fR", lines[i + 1]), lines[i + 1]
    assert not literal
    option = lines.index(r"\fB\-o\fR, \fB\-\-output\fR \fILOGDIR\fR")
    assert lines[option - 1] == ".TP" and lines[option + 1] == "default: hipboard_runs"
    view = lines.index(r"\fB\-\-view\fR \fIVIEW\fR")
    assert lines[view + 1:view + 5] == [
        "overview (default), steps, operator, kernel, memory, module,", ".br",
        "distributed: the ranks of a run, or of all files given", ".br"]
    routes = lines.index("Routes:") if "Routes:" in lines else next(
        i for i, line in enumerate(lines) if line.endswith("Routes:"))
    assert lines[routes + 1:routes + 4] == [".sp", ".nf", "  runs                          views?run=R"]


def test_what_the_manual_says_of_the_environment(manual):
    [environment] = re.findall(r"^\.SH ENVIRONMENT\n((?:(?!\.SH ).*\n)*)", manual, re.M)
    entries = environment.split(".TP\n")
    assert entries[0] == "" and len(entries) == 23
    for entry in entries[1:]:
        names, meaning = entry.rstrip("\n").split("\n", 1)
        assert re.fullmatch(r"\\fB[A-Z][A-Z_0-9, ]*\\fR", names) and meaning[0] not in ".\n"


def completed(*words):
    script = 'source <("$0" bash); COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _hipboard; printf "%s\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", script, DESCRIBE, "hipboard", *words], capture_output=True, text=True, check=True,
                          timeout=600)
    return done.stdout.split()


def test_bash_completes_commands_options_and_values():
    assert completed("") == completed("help", "") == [*COMMANDS, "help", "--help", "--version"]
    assert completed("un") == ["unpack"] and completed("help", "rec") == ["record", "recover"]
    for command in COMMANDS:
        listed = re.findall(r"^  (?:-\w, )?(--[\w-]+)(?: (\S+))?", said(command, "--help"), re.M)
        assert completed(command, "--") == [name for name, _ in listed]
        assert completed(command, "") == []  # files
        for name, argument in listed:
            assert completed(command, name, "") == (argument.split("|") if "|" in argument and argument.islower() else [])


@pytest.mark.parametrize("words", [[], ["html"], ["manual"]])
def test_nothing_else_is_described(words):
    done = subprocess.run([DESCRIBE, *words], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (2, "")


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
        if "|" in argument and argument.islower():
            refused = said(command, f"--{name}", "nonsense", status=2)
            assert f"--{name} 'nonsense': expected {argument}" in refused
    assert "is unknown" in said(command, "--nonsense", status=2)
