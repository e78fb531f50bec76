# SPDX-License-Identifier: MIT
"""The installed library, used from outside the tree as a user's build would."""
import json
import os
import re
import shutil
import subprocess
import sys
import time

import pytest

from support import BUILD, PROGRAMS, ROOT, pkg_config, run

PROGRAM = PROGRAMS / "user.c"
CXX_PROGRAM = PROGRAMS / "user.cpp"
MACROS = PROGRAMS / "every_macro.c"


@pytest.fixture(scope="session")
def libdir(prefix):
    [library] = prefix.glob("lib*/**/libhipboard.so")
    return library.parent


def check_run(program, libdir, directory):
    """The program writes the trace that it is told to."""
    path = directory / "trace.json"
    directory.mkdir(exist_ok=True)
    run(program, path, env=dict(os.environ, LD_LIBRARY_PATH=str(libdir)))
    events = json.loads(path.read_text())["traceEvents"]
    assert [event["name"] for event in events if event.get("cat") == "user_annotation"] == [
        "outer", "inner"]


def test_c_program_by_pkg_config(prefix, libdir, tmp_path):
    flags = pkg_config(prefix, "--cflags", "--libs")
    run("cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", PROGRAM, "-o", tmp_path / "user", *flags)
    check_run(tmp_path / "user", libdir, tmp_path / "runs")


def test_static_c_program_by_pkg_config(prefix, libdir, tmp_path):
    flags = pkg_config(prefix, "--cflags", "--libs", "--static")
    flags = [str(libdir / "libhipboard.a") if flag == "-lhipboard" else flag for flag in flags]
    run("cc", PROGRAM, "-o", tmp_path / "user", *flags)
    check_run(tmp_path / "user", "/nonexistent", tmp_path / "runs")


def test_a_program_that_is_static_as_a_whole(prefix, tmp_path):
    flags = pkg_config(prefix, "--cflags", "--libs", "--static")
    run("cc", "-static", PROGRAM, "-o", tmp_path / "user", *flags)
    assert "NEEDED" not in run("readelf", "-d", tmp_path / "user")
    check_run(tmp_path / "user", "/nonexistent", tmp_path / "runs")


def test_static_cxx_program_with_both_libraries(prefix, libdir, tmp_path):
    flags = pkg_config(prefix, "--cflags", "--libs", "--static", package="hipboard-analysis")
    flags = [str(libdir / f"lib{flag[2:]}.a") if flag.startswith("-lhipboard") else flag
             for flag in flags]
    run("c++", "-std=c++17", CXX_PROGRAM, "-o", tmp_path / "user", *flags)
    assert "hipboard" not in run("ldd", tmp_path / "user")
    check_run(tmp_path / "user", "/nonexistent", tmp_path / "runs")

def stacks_in(logdir):
    [path] = logdir.glob("*.json")
    return [event["args"]["Call stack"] for event in json.loads(path.read_text())["traceEvents"]
            if event.get("name") == "layer"]


STACK = re.compile(r"\S*/stacks\.c\(\d+\): layer;\S*/stacks\.c\(\d+\): model;\S*/stacks\.c\(\d+\): main;")


def test_stacks_are_named_by_the_installed_helper(prefix, libdir, tmp_path):
    """Not by the program, which has another libdw in its path."""
    flags = pkg_config(prefix, "--cflags", "--libs")
    run("cc", "-g", PROGRAMS / "stacks.c", "-o", tmp_path / "stacks", *flags)
    (tmp_path / "libdw.so.1").write_text("no library")
    environment = dict(os.environ, LD_LIBRARY_PATH=f"{tmp_path}:{libdir}")
    run(tmp_path / "stacks", tmp_path / "runs", env=environment)
    [stack] = stacks_in(tmp_path / "runs")
    assert STACK.match(stack)


def test_stacks_of_a_killed_program_are_named(prefix, libdir, tmp_path):
    flags = pkg_config(prefix, "--cflags", "--libs")
    run("cc", "-g", PROGRAMS / "stacks.c", "-o", tmp_path / "stacks", *flags)
    logdir = tmp_path / "runs"
    program = subprocess.Popen([tmp_path / "stacks", logdir, "wait"],
                               env=dict(os.environ, LD_LIBRARY_PATH=str(libdir)))
    try:
        end = time.monotonic() + 600
        while not any(b"build-id" in path.read_bytes() for path in logdir.glob(".*.hbspool")):
            assert time.monotonic() < end and program.poll() is None
            time.sleep(0.01)
    finally:
        program.kill()
        program.wait()
    run(prefix / "bin/hipboard", "recover", logdir)
    [stack] = stacks_in(logdir)
    assert STACK.match(stack)


def needed(library):
    return set(re.findall(r"NEEDED.*\[(\S+?)\.so", run("readelf", "-d", library)))


def test_a_recorded_program_loads_no_analysis(prefix, libdir):
    """Both libraries name what they need, and no more."""
    system = {"libc", "libm", "libz", "ld-linux-x86-64"}
    assert needed(libdir / "libhipboard.so") <= system | {"libprotobuf-c"}
    assert needed(libdir / "libhipboard-analysis.so") <= system | {"libhipboard", "libsqlite3"}
    serve = libdir / "hipboard/libhipboard-serve.so"  # of a command, not of programs
    for module in set((libdir / "hipboard").glob("libhipboard-*.so")) - {serve}:
        assert needed(module) <= system | {"libhipboard"}
    assert "libmicrohttpd" in needed(serve) and "libmicrohttpd" not in needed(prefix / "bin/hipboard")


def test_what_programs_load_stays_small(libdir):
    """In kB of code and constants, of data, and of memory that is set aside: of a build as users make it. Who needs
    more says in the commit what for."""
    for library, code, data, aside in (("libhipboard.so", 920, 100, 1200), ("libhipboard-analysis.so", 1500, 60, 20)):
        sizes = run("size", libdir / library).splitlines()[1].split()[:3]
        assert [int(size) // 1000 <= limit for size, limit in zip(sizes, (code, data, aside))] == [True] * 3, sizes


def test_libraries_of_two_builds_do_not_come_together(prefix, libdir, tmp_path):
    """The analysis asks for the recorder of its own build, and says so."""
    [version] = pkg_config(prefix, "--modversion")
    analysis = (libdir / "libhipboard-analysis.so").resolve()
    text = analysis.read_bytes()
    mine, other = (b"HIPBOARD_PRIVATE_" + v.encode() for v in (version, "9" + version[1:]))
    assert mine in text
    elf_hash = lambda name: __import__("functools").reduce(
        lambda h, c: ((h << 4) + c) & 0xfffffff ^ (((h << 4) + c) >> 24 & 0xf0), name, 0)
    text = text.replace(elf_hash(mine).to_bytes(4, "little"), elf_hash(other).to_bytes(4, "little"))
    (tmp_path / "libhipboard-analysis.so.0").write_bytes(text.replace(mine, other))
    done = subprocess.run([prefix / "bin/hipboard", "--version"], text=True, capture_output=True,
                          env=dict(os.environ, LD_PRELOAD=str(tmp_path / "libhipboard-analysis.so.0")))
    assert done.returncode != 0 and other.decode() in done.stderr


def other_release(prefix, libdir, tmp_path, part):
    """A copy of the installation in which a part is of another version."""
    copy = tmp_path / "mixed"
    shutil.copytree(prefix, copy, symlinks=True)
    file = copy / libdir.relative_to(prefix) / "hipboard" / part
    [version] = pkg_config(prefix, "--modversion")
    text = file.read_bytes()
    assert b"hipboard-part " + version.encode() in text
    file.write_bytes(text.replace(b"hipboard-part " + version.encode(),
                                  b"hipboard-part 9" + version[1:].encode()))
    return copy, copy / libdir.relative_to(prefix), "9" + version[1:]


def test_a_library_of_another_release_is_not_loaded_into_programs(prefix, libdir, tmp_path):
    copy, libraries, version = other_release(prefix, libdir, tmp_path, "libhipboard-capture.so")
    done = subprocess.run([copy / "bin/hipboard", "record", "-o", tmp_path / "runs", "--", "true"],
                          text=True, capture_output=True,
                          env=dict(os.environ, LD_LIBRARY_PATH=str(libraries)))
    assert done.returncode != 0
    assert f"hipboard {version}" in done.stderr and "install all of one release" in done.stderr


def test_a_helper_of_another_release_is_not_started(prefix, libdir, tmp_path):
    _, libraries, version = other_release(prefix, libdir, tmp_path, "hipboard-symbolizer")
    flags = pkg_config(prefix, "--cflags", "--libs")
    run("cc", "-g", PROGRAMS / "stacks.c", "-o", tmp_path / "stacks", *flags)
    done = subprocess.run([tmp_path / "stacks", tmp_path / "runs"], text=True, capture_output=True,
                          env=dict(os.environ, LD_LIBRARY_PATH=str(libraries)))
    assert done.returncode == 0 and f"hipboard {version}" in done.stderr
    [stack] = stacks_in(tmp_path / "runs")
    assert not STACK.match(stack)


@pytest.mark.parametrize("standard", ["c++17", "c++20"])
def test_cxx_program(prefix, libdir, tmp_path, standard):
    flags = pkg_config(prefix, "--cflags", "--libs", package="hipboard-analysis")
    run("c++", f"-std={standard}", "-Wall", "-Wextra", "-Werror", CXX_PROGRAM,
        "-o", tmp_path / "user", *flags)
    check_run(tmp_path / "user", libdir, tmp_path / "runs")


@pytest.mark.parametrize("standard", ["f2008", "f2018"])
def test_fortran_program(prefix, libdir, tmp_path, standard):
    run("gfortran", f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-J", tmp_path,
        prefix / "include/hipboard/hipboard.f90", PROGRAMS / "user.f90", "-o", tmp_path / "user",
        *pkg_config(prefix, "--libs"))
    check_run(tmp_path / "user", libdir, tmp_path / "runs")
    trace = json.loads((tmp_path / "runs/trace.json").read_text())
    assert trace["language"] == "Fortran"
    assert [e["name"] for e in trace["traceEvents"] if e.get("cat") == "cpu_op"] == ["aten::mm"]
    [read, plain] = [e for e in trace["traceEvents"] if e.get("cat") == "io"]
    own = {"bytes": 4096, "ratio": 0.25, "cached": True, "path": "a b", "many": 2**40}
    assert own.items() <= read["args"].items() and plain["name"] == "plain"
    assert [(e["ph"], e["id"]) for e in trace["traceEvents"] if e.get("cat") == "flow"] == [
        ("s", 7), ("f", 7)]
    assert [e["args"] for e in trace["traceEvents"] if e["name"] == "queue"] == [{"rows": 3}]


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_cxx_program_without_exceptions(prefix, libdir, tmp_path, compiler):
    flags = pkg_config(prefix, "--cflags", "--libs", package="hipboard-analysis")
    run(compiler, "-std=c++17", "-fno-exceptions", "-fno-rtti", "-Wall", "-Wextra", "-Werror",
        PROGRAMS / "no_exceptions.cpp", "-o", tmp_path / "user", *flags)
    check_run(tmp_path / "user", libdir, tmp_path / "runs")


@pytest.mark.parametrize("compiler, standard", [
    ("gcc", "c11"), ("gcc", "c2x"), ("clang", "c11"), ("clang", "gnu17"),
    ("g++", "c++17"), ("g++", "c++20"), ("g++", "c++23"),
    ("clang++", "c++17"), ("clang++", "c++20"), ("clang++", "c++2b"),
])
def test_headers_are_clean_to_strict_compilers(prefix, compiler, standard):
    flags = pkg_config(prefix, "--cflags")
    run(compiler, f"-std={standard}", "-x", "c++" if "++" in compiler else "c", "-pedantic",
        "-Wall", "-Wextra", "-Wshadow", "-Werror", "-fsyntax-only", MACROS, *flags)


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("optimized", ["-O0", "-O2"])
def test_call_stacks_have_lines_whoever_compiled(prefix, libdir, tmp_path, compiler, optimized):
    """clang, and so hipcc, leaves out a table by which gcc's debug information is searched."""
    source = PROGRAMS / "stack.cpp"
    run(compiler, "-std=c++17", "-g", optimized, source, "-o", tmp_path / "stack",
        *pkg_config(prefix, "--cflags", "--libs", package="hipboard-analysis"))
    run(tmp_path / "stack", tmp_path / "stacks", env=dict(os.environ, LD_LIBRARY_PATH=str(libdir)))
    [stack] = (tmp_path / "stacks").read_text().splitlines()
    inner, outer = [number for number, line in enumerate(source.read_text().splitlines(), 1)
                    if "LINE" in line]
    assert re.search(rf";[^;]*stack\.cpp\({outer}\):_main;"
                     rf"[^;]*stack\.cpp\({inner}\):_work(\(\))? \d{{4,}}$", stack)
    assert "hipboard.hpp" not in stack


CMAKE = """
cmake_minimum_required(VERSION 3.16)
project(user C CXX)
find_package(hipboard {version} REQUIRED)
add_executable(user user.c)
target_link_libraries(user PRIVATE hipboard::hipboard)
add_executable(user_cxx user.cpp)
target_link_libraries(user_cxx PRIVATE hipboard::analysis)
set_target_properties(user_cxx PROPERTIES CXX_STANDARD 17 CXX_EXTENSIONS OFF)
"""


def configure(prefix, directory, version):
    shutil.copy(PROGRAM, directory)
    shutil.copy(CXX_PROGRAM, directory)
    (directory / "CMakeLists.txt").write_text(CMAKE.format(version=version))
    run("cmake", "-G", "Ninja", "-S", directory, "-B", directory / "build",
        f"-DCMAKE_PREFIX_PATH={prefix}")


def test_program_by_cmake(prefix, libdir, tmp_path):
    [version] = pkg_config(prefix, "--modversion")
    configure(prefix, tmp_path, version)
    run("cmake", "--build", tmp_path / "build")
    check_run(tmp_path / "build/user", libdir, tmp_path / "c")
    check_run(tmp_path / "build/user_cxx", libdir, tmp_path / "cxx")


def test_cmake_refuses_another_version(prefix, tmp_path):
    with pytest.raises(AssertionError, match="compatible with requested version"):
        configure(prefix, tmp_path, "99.0")


def test_the_tool_runs_wherever_it_was_installed(prefix):
    [version] = pkg_config(prefix, "--modversion")
    assert run(prefix / "bin/hipboard", "--version", env={}) == f"hipboard {version}\n"


def options_of(prefix):
    """{command: its options}, by --help."""
    hipboard = prefix / "bin/hipboard"
    commands = re.findall(r"^  (\w+) ", run(hipboard, "--help"), re.M)
    assert "record" in commands and "recover" in commands
    return {command: re.findall(r"^  (?:-\w, )?(--[\w-]+)", run(hipboard, command, "--help"), re.M)
            for command in commands}


def test_the_manual_page_says_what_help_says(prefix):
    page = (prefix / "share/man/man1/hipboard.1").read_text()
    assert page.startswith(".TH HIPBOARD 1 ")
    sections = dict(re.findall(r"^\.SS (\w+)\n(.*?)(?=^\.S[SH] )", page, re.M | re.S))
    for command, options in options_of(prefix).items():
        told = re.findall(r"\\fB(\\-\\-.*?)\\fR", sections.pop(command))
        assert [name.replace("\\-", "-") for name in told] == [
            name for name in options if name != "--help"]
    assert not sections
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-ww", "-man", "-Tutf8"], input=page, text=True,
                              capture_output=True, timeout=600)
        assert not done.stderr


def test_what_threads_have_fits_into_programs_that_load_it_late():
    """dlopen() has 1,664 bytes for all libraries that use thread-local memory as this one does."""
    for library in ("libhipboard.so", "libhipboard-mpi.so"):
        segments = run("readelf", "-lW", BUILD / "src/recorder" / library)
        [size] = re.findall(r"^ +TLS +\S+ +\S+ +\S+ +\S+ +0x(\S+)", segments, re.M)
        assert int(size, 16) <= 1000


def test_python_loads_the_libraries_beside_torch():
    script = "import ctypes, sys, torch; [ctypes.CDLL(path) for path in sys.argv[1:]]"
    run(sys.executable, "-c", script, *(BUILD / "src" / path for path in (
        "recorder/libhipboard.so.0", "analysis/libhipboard-analysis.so.0")))


def test_the_manual_page_lists_the_environment(prefix):
    """All that the library asks for by a name of ours."""
    page = (prefix / "share/man/man1/hipboard.1").read_text()
    [environment] = re.findall(r"^\.SH ENVIRONMENT\n(.*?)(?=^\.SH )", page, re.M | re.S)
    listed = set(re.findall(r"(?<=\\fB)HIPBOARD_[A-Z_]+", environment))
    asked = set()
    for source in [*ROOT.glob("src/**/*.[ch]")]:
        asked |= set(re.findall(r'"(HIPBOARD_[A-Z_]+)"', source.read_text()))
    asked -= {"HIPBOARD_REQUEST_VERSION", "HIPBOARD_REASON"}  # keys of control files
    assert len(asked) >= 6 and asked == listed
    others = set(re.findall(r"\b[A-Z][A-Z0-9_]{3,}\b", environment.replace(r"\fB", " "))) - listed
    named = {"LD_PRELOAD", "PATH", "ASAN_OPTIONS"}  # of the loader, the shell and the sanitizer: kept, and added to
    named |= {"OMPI_COMMAND", "OMPI_NUM_APP_CTX", "SLURM_JOB_ID", "SLURM_STEP_NUM_TASKS"}  # what kind of job it is
    for source in [*ROOT.glob("src/**/*.[ch]"), *(ROOT / "tools/hipboard").glob("*.[ch]")]:
        for name in re.findall(r'getenv\("([A-Z_]+)"\)', source.read_text()):
            assert name in others | listed | named, f"{source.name}: {name}"
    ranks = re.findall(r'\{"[\w ]+",\s*(?:NULL|"\w+"),\s*"(\w+)"', (ROOT / "src/common/base/launcher.c").read_text())
    assert len(ranks) > 5 and set(ranks) <= others


def completed(prefix, *words):
    """What bash offers in place of the last word."""
    script = (f"source '{prefix}/share/bash-completion/completions/hipboard.bash'\n"
              "COMP_WORDS=(\"$@\") COMP_CWORD=$(($# - 1)); _hipboard\n"
              'printf "%s\\n" "${COMPREPLY[@]}"')
    return run("bash", "-c", script, "bash", "hipboard", *words).split()


def test_bash_completes_commands_options_and_their_values(prefix):
    options = options_of(prefix)
    assert set(completed(prefix, "")) == {*options, "help", "--help", "--version"}
    assert completed(prefix, "comp") == ["compare"]
    for command in options:
        assert sorted(completed(prefix, command, "--")) == sorted(options[command])
        assert completed(prefix, command, "") == [], "files, which is bash's default"
    assert completed(prefix, "convert", "--dialect", "") == ["tensorboard", "kineto"]


MESON = """
project('user', 'c')
executable('user', 'user.c', dependencies: dependency('hipboard', fallback: 'hipboard'))
"""


def test_program_by_meson_subproject(tmp_path):
    shutil.copy(PROGRAM, tmp_path)
    (tmp_path / "meson.build").write_text(MESON)
    (tmp_path / "subprojects").mkdir()
    (tmp_path / "subprojects/hipboard").symlink_to(ROOT)
    said = run("meson", "setup", tmp_path / "build", tmp_path, "--force-fallback-for=hipboard")
    assert "WARNING" not in said
    targets = json.loads(run("meson", "introspect", "--targets", tmp_path / "build"))
    assert {target["name"] for target in targets if target["type"] == "executable"} == {
        "user", "hipboard", "hipboard-digest", "hipboard-symbolizer", "describe"}, "neither samples nor tests are built for a program that uses hipboard"


@pytest.mark.parametrize("library, node, symbols, headers", [
    ("libhipboard.so", "HIPBOARD_0", "src/recorder/hipboard.map.in", ["hipboard.h", "comm.h", "event_log.h"]),
    ("libhipboard-analysis.so", "HIPBOARD_ANALYSIS_0", "src/analysis/hipboard-analysis.map",
     ["analysis.h", "compare.h", "convert.h", "export.h", "import.h", "pack.h", "page.h", "ranks.h"]),
])
def test_exports_are_the_public_headers(libdir, library, node, symbols, headers):
    symbols_of = run("nm", "-D", "--defined-only", libdir / library)
    exported = set(re.findall(rf" [A-Z] (\w+)@@{node}\b", symbols_of))
    public = re.search(rf"^{node} {{(.*?)local:", (ROOT / symbols).read_text(), re.M | re.S)[1]
    listed = set(re.findall(r"^ +(hb_\w+);", public, re.M))
    declared = declared_by(headers)
    if "hipboard.h" not in headers:
        declared -= declared_by(["hipboard.h"])
    assert declared == listed
    assert exported == listed


def declared_by(headers):
    declared = set()
    for header in headers:
        text = run("cc", "-E", "-P", "-x", "c", "-I", ROOT / "include",
                   ROOT / "include/hipboard" / header)
        declared |= set(re.findall(
            r'visibility\("default"\)\)\)[^;({]*?\b(hb_\w+)\s*[;(]', text))
    return declared
