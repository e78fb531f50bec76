# SPDX-License-Identifier: MIT
"""Calls of libraries as operators of unchanged programs, by tables that are read at run time."""
import json
import random
import shutil
import subprocess

import pytest

from support import BUILD, ROOT

HIPBOARD = BUILD / "tools/hipboard/hipboard"
SOURCES = ROOT / "tests/e2e/programs/operators"
VENV = ROOT / ".venv"
PYTHON = VENV / "bin/python"


def compiled(tmp_path, source, *arguments, compiler="cc", name=None):
    program = tmp_path / (name or source.stem)
    subprocess.run([compiler, "-g", "-O1", source, "-o", program, *arguments], check=True)
    return program


def library(tmp_path, name, text, *arguments):
    source = tmp_path / f"{name}.c"
    source.write_text(text)
    return compiled(tmp_path, source, "-shared", "-fPIC", f"-L{tmp_path}", f"-Wl,-rpath,{tmp_path}",
                    *arguments, name=f"lib{name}.so")


def recorded(tmp_path, *program, ops=None, options=()):
    """What it printed, hipboard's words, and its traces."""
    logdir = tmp_path / "runs"
    shutil.rmtree(logdir, ignore_errors=True)
    tables = ["--ops", ops] if ops else []
    command = [HIPBOARD, "record", "-o", logdir, *tables, *options, "--", *map(str, program)]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600)
    files = [json.loads(path.read_text()) for path in sorted(logdir.glob("*.pt.trace.json"))]
    return done, files


def operators(trace):
    """(name, dimensions, types, FLOPs) in the order of their beginning."""
    found = [e for e in trace["traceEvents"] if e["ph"] == "X" and e.get("cat") == "cpu_op"]
    return [(e["name"], e["args"].get("Input Dims"), e["args"].get("Input type"),
             e["args"].get("flops")) for e in sorted(found, key=lambda e: e["ts"])]


def plain(*program):
    return subprocess.run(list(map(str, program)), capture_output=True, text=True, timeout=600)


def test_libraries_of_cpus(tmp_path):
    """Shapes, types and FLOPs exactly; nested calls shown and counted once; small ones summed up."""
    program = compiled(tmp_path, SOURCES / "cpu_libraries.c", "-llapacke", "-lopenblas", "-lfftw3")
    done, [trace] = recorded(tmp_path, program)
    assert (done.returncode, done.stdout) == (0, plain(program).stdout)
    f32, f64, c128 = ["float"], ["double"], ["c10::complex<double>"]
    product = ([[64, 32], [32, 48]], f32 * 2, 2 * 64 * 48 * 32)
    order = ([[200, 200]], f64)
    assert operators(trace) == [
        ("cblas_sgemm", *product), ("sgemm_", *product),
        ("LAPACKE_dgetrf", *order, 5333333), ("dgetrf_", *order, None),
        ("fftw_plan_dft_1d", [[1024]], c128, None), ("fftw_execute", [[1024]], c128, 51200),
        ("fftw_plan_dft_1d", [[512]], c128, None), ("fftw_execute", [[512]], c128, 23040)]
    assert trace["hipboard_operators_small"] == {"cblas_ddot": {"calls": 1000, "flops": 128000}}


def test_compilations_by_hiprtc(tmp_path):
    """Which no profiler of HIP's is told of."""
    library(tmp_path, "hiprtc", """
        #include <unistd.h>
        int hiprtcCompileProgram(void *program, int count, const char **options) { return usleep(2000), count; }
        int hiprtcLinkComplete(void *link, void **code, unsigned long *size) { return *size = 7, 0; }
        int hiprtcGetCodeSize(void *program, unsigned long *size) { return *size = 9, 0; }
    """)
    source = tmp_path / "compiles.c"
    source.write_text("""
        #include <stdio.h>
        int hiprtcCompileProgram(void *, int, const char **), hiprtcGetCodeSize(void *, unsigned long *);
        int hiprtcLinkComplete(void *, void **, unsigned long *);
        int main(void)
        {
            unsigned long size = 0, linked = 0;
            int result = hiprtcCompileProgram(&size, 3, NULL) + hiprtcGetCodeSize(&size, &size);
            return printf("%d %lu %d", result, size, hiprtcLinkComplete(&size, NULL, &linked)) < 0;
        }""")
    program = compiled(tmp_path, source, f"-L{tmp_path}", "-lhiprtc", f"-Wl,-rpath,{tmp_path}")
    done, [trace] = recorded(tmp_path, program)
    assert (done.returncode, done.stdout) == (0, "3 9 0")
    assert [name for name, *_ in operators(trace)] == ["hiprtcCompileProgram", "hiprtcLinkComplete"]
    [compilation] = [e for e in trace["traceEvents"] if e["name"] == "hiprtcCompileProgram"]
    assert compilation["dur"] >= 2000


def test_none_are_recorded_when_they_are_not_wanted(tmp_path):
    program = compiled(tmp_path, SOURCES / "cpu_libraries.c", "-llapacke", "-lopenblas", "-lfftw3")
    done, traces = recorded(tmp_path, program, options=["--no-library-ops"])
    assert (done.returncode, done.stdout, traces) == (0, plain(program).stdout, [])


@pytest.mark.parametrize("version, where", [
    (2, []), (3, [f"-I{VENV}/include", f"-L{VENV}/lib", f"-Wl,-rpath,{VENV}/lib"])])
def test_primitives_of_onednn(tmp_path, version, where):
    program = compiled(tmp_path, SOURCES / "convolution.cpp", f"-DEXPECTED={version}", *where, "-ldnnl",
                       compiler="c++")
    done, [trace] = recorded(tmp_path, program)
    assert (done.returncode, done.stdout) == (0, "54\n")
    found = [op for op in operators(trace) if op[0] != "dnnl_reorder"]
    assert found == [
        ("dnnl_convolution", [[2, 3, 8, 8], [4, 3, 3, 3]], ["float"] * 2, 2 * 2 * 4 * 36 * 27),
        ("dnnl_matmul", [[32, 64], [64, 16]], ["float"] * 2, 2 * 32 * 64 * 16)]


def test_numpy(tmp_path):
    """Whose BLAS is its own, with names and integers of its own, and seen by itself alone."""
    code = "import numpy; a = numpy.ones((300, 200)); b = numpy.ones((200, 50)); print((a @ b).sum())"
    done, [trace] = recorded(tmp_path, PYTHON, "-c", code)
    assert (done.returncode, done.stdout) == (0, "3000000.0\n")
    assert operators(trace) == [
        ("cblas_dgemm", [[300, 200], [200, 50]], ["double"] * 2, 6000000)]


def test_strides_are_those_of_the_matrices(tmp_path):
    """Of a transposed one, and of columns of a larger one."""
    code = """import numpy
a, b = numpy.ones((200, 300)), numpy.ones((200, 80))
a.T @ b[:, :50]
a.T @ b[:, 3]"""
    done, [trace] = recorded(tmp_path, PYTHON, "-c", code)
    assert done.returncode == 0
    product, by_vector = [e["args"] for e in trace["traceEvents"] if e.get("cat") == "cpu_op"]
    assert (product["Input Dims"], product["Input Strides"]) == (
        [[300, 200], [200, 50]], [[1, 300], [80, 1]])
    assert (by_vector["Input Dims"], by_vector["Input Strides"], by_vector["flops"]) == (
        [[300, 200], [200]], [[1, 300], [80]], 2 * 300 * 200)


def test_stacks_have_the_programs_frames_alone(tmp_path):
    """Not those through which the calls of functions around them go."""
    library(tmp_path, "inner", "int inner(int n) { return n + 1; }")
    library(tmp_path, "outer", "int inner(int); int outer(int n) { return inner(n) * 2; }", "-linner")
    source = tmp_path / "main.c"
    source.write_text("int outer(int); int main(void) { return outer(3) - 8; }")
    program = compiled(tmp_path, source, f"-L{tmp_path}", "-louter", f"-Wl,-rpath,{tmp_path}")
    table = tmp_path / "both.ops"
    table.write_text("outer | n:i\ninner | n:i\n")
    done, [trace] = recorded(tmp_path, program, ops=table, options=["--with-stack"])
    assert done.returncode == 0
    stacks = {e["name"]: [frame.rpartition(": ")[2] for frame in e["args"]["Call stack"].split(";") if frame]
              for e in trace["traceEvents"] if e.get("cat") == "cpu_op"}
    assert stacks["outer"][0] == "main"
    assert stacks["inner"][:2] == ["outer", "main"]


def test_modules_by_the_frames_of_methods(tmp_path):
    """Two layers of one class, called at two places, in a network that is called three times in a loop."""
    library(tmp_path, "work", "int work(int n) { return n + 1; } int loss(int n) { return n; }")
    source = tmp_path / "main.cpp"
    source.write_text("""
        extern "C" int work(int), loss(int);
        struct Layer { __attribute__((noinline)) int forward(int n) { n = work(n); return work(n) + 1; } };
        struct Net {
            Layer first, second;
            __attribute__((noinline)) int forward(int n)
            {
                n = first.forward(n) + 1;
                n = second.forward(n) + 1;
                return loss(n) - 1;
            }
        };
        int main()
        {
            Net net; int n = 0;
            for (int i = 0; i < 3; i++) n += net.forward(i) + 1;
            return loss(n) - n;
        }""")
    program = tmp_path / "main"
    subprocess.run(["c++", "-g", "-O1", "-fno-optimize-sibling-calls", source, "-o", program, f"-L{tmp_path}", "-lwork",
                    f"-Wl,-rpath,{tmp_path}"], check=True)
    table = tmp_path / "work.ops"
    table.write_text("work | n:i\nloss | n:i\n")
    done, [trace] = recorded(tmp_path, program, ops=table, options=["--modules", r"([A-Za-z_]+)::forward"])
    assert done.returncode == 0
    frames = sorted((e for e in trace["traceEvents"] if e["name"].startswith("nn.Module: ")), key=lambda e: e["ts"])
    assert [e["name"] for e in frames] == ["nn.Module: Net_0", "nn.Module: Layer_0", "nn.Module: Layer_1"] * 3
    parents = {e["args"]["Python id"]: e["args"].get("Python parent id") for e in frames}
    names = {e["args"]["Python id"]: e["name"] for e in frames}
    assert all(parents[i] in (None, 0) if "Net" in names[i] else "Net" in names[parents[i]] for i in names)
    calls = [e for e in trace["traceEvents"] if e.get("cat") == "cpu_op"]
    within = [sum(f["ts"] <= c["ts"] <= f["ts"] + f["dur"] for f in frames) for c in sorted(calls, key=lambda c: c["ts"])]
    assert within == [2, 2, 2, 2, 1] * 3 + [0]
    said = subprocess.run([HIPBOARD, "view", tmp_path / "runs", "--view", "module"], capture_output=True, text=True)
    assert said.stdout.count("Layer_") >= 2 and "Net_0" in said.stdout
    done = subprocess.run([HIPBOARD, "record", "--modules", "(", "true"], capture_output=True, text=True)
    assert done.returncode == 2 and "expected a regular expression" in done.stderr


def test_exceptions_and_longjmp_leave_no_operator_open(tmp_path):
    """Each operator ends where it was left, and what comes after it is not within it."""
    library(tmp_path, "inner", "int inner(int x) { return x + 5; }")
    compiled(tmp_path, SOURCES / "leaves_library.cpp", "-shared", "-fPIC", f"-L{tmp_path}", "-linner",
             f"-Wl,-rpath,{tmp_path}", compiler="c++", name="libleaves.so")
    program = compiled(tmp_path, SOURCES / "leaves.cpp", f"-L{tmp_path}", "-lleaves", "-linner",
                       f"-Wl,-rpath,{tmp_path}", compiler="c++")
    table = tmp_path / "leaves.ops"
    table.write_text("throws | x:i | f32[x] | 100\njumps | x:i back | | 100\n"
                     "once | x:i | f64[x] | 7\ntwice | x:i | | x*10\ninner | x:i | | 5\n")
    done, [trace] = recorded(tmp_path, program, ops=table)
    assert (done.returncode, done.stdout) == (0, plain(program).stdout)
    found = [(name, flops) for name, _, _, flops in operators(trace)]
    assert found == [("throws", 100)] * 3 + [("once", 7)] + [("jumps", 100)] * 3 + [
        ("once", 7), ("twice", 30), ("inner", None)] + [("throws", 100)] * 3
    spans = {e["ts"]: e for e in trace["traceEvents"] if e.get("cat") == "cpu_op"}
    for first, second in zip(*[sorted(spans)[i:] for i in (0, 1)]):
        ends = first + spans[first]["dur"] <= second
        assert ends or spans[second]["name"] == "inner", (spans[first], spans[second])
    third = sorted(spans)[2]  # a second passed until the next one began
    assert spans[third]["dur"] < 1e6
    assert "unbalanced" not in json.dumps(trace.get("hipboard_lost", ""))


def test_two_libraries_of_one_symbol(tmp_path):
    """Each plug-in calls its own library's function, and both are seen; loaded late and locally."""
    for i in (1, 2):
        library(tmp_path, f"math{i}", f"int compute(int n) {{ return n * {i}; }}")
        library(tmp_path, f"plugin{i}", "int compute(int); int run(int n) { return compute(n); }",
                f"-lmath{i}", *(["-Wl,-z,now"] if i == 2 else ["-Wl,-z,lazy"]))
    program = compiled(tmp_path, SOURCES / "plugins.c", "-ldl")
    table = tmp_path / "compute.ops"
    table.write_text("compute | n:i | i32[n] | n | name=one lib=libmath1\n"
                     "compute | n:i | i32[n] | n | name=two lib=libmath2\n")
    plugins = [tmp_path / f"libplugin{i}.so" for i in (1, 2)]
    done, [trace] = recorded(tmp_path, program, *plugins, ops=table)
    assert (done.returncode, done.stdout) == (0, "10\n20\n")
    assert [op[0] for op in operators(trace)] == ["one", "two"]


def test_dlsym_of_one_thread_waits_while_another_loads_libraries(tmp_path):
    """Else it would give out the function itself, whose calls nobody sees; but it does not wait for who waits for it:
    a library's constructor has the loader's lock."""
    library(tmp_path, "work", "int work(int n) { return n; }")
    library(tmp_path, "other", "int other(int n) { return n; }")
    library(tmp_path, "eager", """
        #include <dlfcn.h>
        #include <unistd.h>
        int told;
        __attribute__((constructor)) static void look_up(void)
        {
            void *library = dlopen("FILE", RTLD_LAZY | RTLD_NOLOAD);
            usleep(100000);
            for (int i = 0; library && i < 100; i++) told += dlsym(library, "work") != 0;
        }""".replace("FILE", str(tmp_path / "libwork.so")), "-lwork")
    source = tmp_path / "main.c"
    source.write_text("""
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <link.h>
        #include <pthread.h>
        #include <stdatomic.h>
        #include <stdio.h>
        #include <string.h>
        #include <unistd.h>
        static atomic_bool over;
        static char **files;
        int dl_iterate_phdr(int (*fn)(struct dl_phdr_info *, size_t, void *), void *data)
        {
            int (*real)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
            *(void **)&real = dlsym(RTLD_NEXT, "dl_iterate_phdr");
            if (files) usleep(1000); /* so that somebody is always looking */
            return real(fn, data);
        }
        static void *load(void *unused)
        {
            while (!over) {
                void *library = dlopen(files[2], RTLD_NOW);
                dlsym(library, "other");
                dlclose(library);
            }
            return unused;
        }
        int main(int argc, char **argv)
        {
            pthread_t thread;
            void *library = dlopen(argv[1], RTLD_NOW), *eager = 0;
            int (*work)(int), sum = 0;
            files = argv;
            pthread_create(&thread, 0, load, 0);
            for (int i = 0; i < 100; i++) {
                *(void **)&work = dlsym(library, "work");
                sum += work(1);
            }
            if (argc > 3) eager = dlopen(argv[3], RTLD_NOW);
            if (eager) sum += *(int *)dlsym(eager, "told");
            over = 1;
            pthread_join(thread, 0);
            printf("%d\\n", sum);
        }""")
    program = compiled(tmp_path, source, "-ldl", "-rdynamic")
    table = tmp_path / "work.ops"
    table.write_text("work | n:i | i32[n]\n")
    files = [tmp_path / f"lib{name}.so" for name in ("work", "other", "eager")]
    done, [trace] = recorded(tmp_path, program, *files[:2], ops=table)
    assert (done.returncode, done.stdout, len(operators(trace))) == (0, "100\n", 100)
    assert "hipboard_operator_notes" not in trace
    done, [trace] = recorded(tmp_path, program, *files, ops=table)
    assert (done.returncode, done.stdout, len(operators(trace))) == (0, "200\n", 100)


def test_libraries_that_another_thread_is_loading_are_left_to_the_loader(tmp_path):
    """It shows them before it has relocated them; to what is put there then it adds their base."""
    library(tmp_path, "work", "int work(int n) { return n; }")
    library(tmp_path, "plugin", f"""
        int work(int);
        static int same(int n) {{ return n; }}
        int (*const relocated[])(int) = {{{"same, " * 100000}}};
        int run(int n) {{ return work(n) + relocated[n](0); }}""", "-lwork", "-Wl,-z,lazy")
    source = tmp_path / "main.c"
    source.write_text("""
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <pthread.h>
        #include <stdatomic.h>
        #include <stdio.h>
        static atomic_bool over;
        static void *look(void *unused)
        {
            while (!over) dlsym(RTLD_DEFAULT, "nothing");
            return unused;
        }
        int main(int argc, char **argv)
        {
            pthread_t thread;
            int (*run)(int), sum = 0;
            pthread_create(&thread, 0, look, 0);
            for (int i = 0; i < 200; i++) {
                void *library = dlopen(argv[argc - 1], RTLD_LAZY);
                *(void **)&run = dlsym(library, "run");
                sum += run(1);
                dlclose(library);
            }
            over = 1;
            pthread_join(thread, 0);
            printf("%d\\n", sum);
        }""")
    program = compiled(tmp_path, source, "-ldl", "-lpthread")
    table = tmp_path / "work.ops"
    table.write_text("work | n:i | i32[n]\n")
    done, [trace] = recorded(tmp_path, program, tmp_path / "libplugin.so", ops=table)
    assert (done.returncode, done.stdout) == (0, "200\n")
    assert {op[0] for op in operators(trace)} == {"work"}


def test_a_million_calls_answer_as_without(tmp_path):
    """Of little work, counted; of more, recorded; those of a callback on the library's own thread, and of a library that
    comes late, too."""
    library(tmp_path, "work", """
        #include <pthread.h>
        long work(long n) { return n * 3 + 1; }
        static void *call(void *callback) { return (void *)((long (*)(void))callback)(); }
        long elsewhere(long (*callback)(void))
        {
            pthread_t thread; void *result;
            if (pthread_create(&thread, 0, call, (void *)callback)) return -1;
            pthread_join(thread, &result);
            return (long)result;
        }""")
    library(tmp_path, "late", "long work(long); long late(long n) { return work(n) + 1; }", "-lwork")
    source = tmp_path / "main.c"
    source.write_text("""
        #include <dlfcn.h>
        #include <stdio.h>
        long work(long n), elsewhere(long (*callback)(void));
        static long callback(void) { return work(7000); }
        int main(int argc, char **argv)
        {
            long sum = 0;
            for (long i = 0; i < 1000000; i++) sum += work(i % 4000);
            for (long i = 0; i < 200000; i++) sum += work(4000 + i % 7);
            sum += elsewhere(callback);
            void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
            long (*late)(long) = library ? (long (*)(long))dlsym(library, "late") : 0;
            sum += late ? late(8000) : 0;
            printf("%d %ld\\n", argc, sum);
            return 5;
        }""")
    program = compiled(tmp_path, source, f"-L{tmp_path}", "-lwork", "-ldl", f"-Wl,-rpath,{tmp_path}")
    table = tmp_path / "work.ops"
    table.write_text("work | n | i64[n] | n | min=4000\n")
    late = tmp_path / "liblate.so"
    done, [trace] = recorded(tmp_path, program, late, ops=table)
    assert (done.returncode, done.stdout) == (5, plain(program, late).stdout)
    found = operators(trace)
    assert len(found) == 200002 and [op[1] for op in found[-2:]] == [[[7000]], [[8000]]]
    assert trace["hipboard_operators_small"]["work"] == {"calls": 1000000, "flops": 250 * sum(range(4000))}
    threads = {e["tid"] for e in trace["traceEvents"] if e.get("cat") == "cpu_op" and e["name"] == "work"}
    assert len(threads) == 2 and "hipboard_lost" not in trace


def test_the_tables_errors_name_line_and_column_and_stop_nothing(tmp_path):
    library(tmp_path, "work", "int work(int n) { return n; }\nint rest(int n) { return n; }")
    source = tmp_path / "main.c"
    source.write_text("int work(int), rest(int); int main(void) { return work(3) + rest(4); }")
    program = compiled(tmp_path, source, f"-L{tmp_path}", "-lwork", f"-Wl,-rpath,{tmp_path}")
    table = tmp_path / "mine.ops"
    table.write_text("# mine\nwork | n:i | i32[n] | 2*n\nrest | n:q | i32[n]\nrest | n:i | i32[x]\n"
                     "gone_function | n:i | |\n")
    done, [trace] = recorded(tmp_path, program, ops=table)
    assert done.returncode == 7
    first, second = done.stderr.splitlines()
    assert first.startswith(f"hipboard: {table}:3:10: wanted: w (or nothing), i, n or f")
    assert second == (f"hipboard: {table}:4:18: there is no parameter x; the line is passed over")
    assert operators(trace) == [("work", [[3]], ["int"], 6)]
    [note] = trace["hipboard_operator_notes"]
    assert note.startswith(f"gone_function ({table}:5): no library of the program imports it")


def test_of_many_that_are_gone_twenty_are_named(tmp_path):
    library(tmp_path, "work", "int work(int n) { return n; }")
    source = tmp_path / "main.c"
    source.write_text("int work(int); int main(void) { return work(3); }")
    program = compiled(tmp_path, source, f"-L{tmp_path}", "-lwork", f"-Wl,-rpath,{tmp_path}")
    for gone in 20, 21, 25:
        table = tmp_path / f"{gone}.ops"
        table.write_text("work | n:i\n" + "".join(f"gone_{i} | n:i\n" for i in range(gone)))
        (tmp_path / str(gone)).mkdir()
        _, [trace] = recorded(tmp_path / str(gone), program, ops=table)
        notes = trace["hipboard_operator_notes"]
        assert [note.split(" ")[0] for note in notes[:20]] == [f"gone_{i}" for i in range(20)]
        assert notes[20:] == ([f"and {gone - 20} more such functions"] if gone > 20 else [])


def test_a_wrong_signature_changes_nothing(tmp_path):
    """Numbers taken for addresses, too few and too many parameters: the call is as it was."""
    parameters = ", ".join(f"long a{i}" for i in range(20))
    total = " + ".join(f"a{i} * {i}" for i in range(20))
    library(tmp_path, "odd", f"""
        long many({parameters}) {{ return {total}; }}
        double floats(int n, double x) {{ return n * x; }}
        int few(int n) {{ return n; }}""")
    source = tmp_path / "main.c"
    source.write_text(f"""
        #include <stdio.h>
        long many({parameters}); double floats(int, double); int few(int);
        int main(void) {{
            printf("%ld\\n", many({", ".join(str(1000000 + i) for i in range(20))}));
            printf("%g\\n", floats(3, 1.5));
            printf("%d\\n", few(12345678));
            return 0;
        }}""")
    program = compiled(tmp_path, source, f"-L{tmp_path}", "-lodd", f"-Wl,-rpath,{tmp_path}")
    table = tmp_path / "odd.ops"
    table.write_text("many | n:I m:N list:J | f32[n,m] i32[list^n] | 2*n*m\n"
                     "floats | a b d e:p f g h i j k | f32[e] | e | make=k\n"
                     "few | a:p b:p | f32[a,b] | a*b | make=b\n")
    done, [trace] = recorded(tmp_path, program, ops=table)
    assert (done.returncode, done.stdout) == (0, plain(program).stdout)
    assert [op[0] for op in operators(trace)] == ["many", "floats", "few"]


def test_steps_loaders_optimizers_and_modules_by_a_table(tmp_path):
    library(tmp_path, "train", """
        int step(void), load(int n), forward(int n), update(void);
        int load(int n) { return n; } int forward(int n) { return n; } int update(void) { return 1; }
        """)
    library(tmp_path, "loop", """
        int load(int n), forward(int n), update(void);
        int step(void) { return load(3) + forward(4) + update(); }""", "-ltrain")
    source = tmp_path / "main.c"
    source.write_text("int step(void); int main(void) { return step() + step(); }")
    program = compiled(tmp_path, source, f"-L{tmp_path}", "-lloop", f"-Wl,-rpath,{tmp_path}")
    table = tmp_path / "train.ops"
    table.write_text("step | | | | kind=step\nload | n:i | | | kind=loader name=Batches\n"
                     "forward | n:i | | | kind=module name=Net\nupdate | | | | kind=optimizer name=SGD\n")
    done, [trace] = recorded(tmp_path, program, ops=table, options=["--slice", "1h"])
    assert done.returncode == 16
    names = [e["name"] for e in sorted((e for e in trace["traceEvents"] if e["ph"] == "X"),
                                       key=lambda e: (e["ts"], -e["dur"]))]
    for i in range(2):
        assert names.count(f"ProfilerStep#{i}") >= 1
    assert names.count("enumerate(DataLoader)#Batches.__next__") == 2
    assert names.count("Optimizer.step#SGD.step") == 2
    assert names.count("nn.Module: Net_0") == 2


def test_a_schedule_counts_the_steps_of_a_table(tmp_path):
    """A step that calls itself, as wrappers do, is one; so is one that is left by longjmp()."""
    library(tmp_path, "work", "int work(int n) { return n; }")
    library(tmp_path, "loop", """
        #include <setjmp.h>
        int work(int n); jmp_buf out;
        int step(int n, int again)
        {
            if (again) return step(n, 0);
            if (work(n) % 4 == 1) longjmp(out, 1);
            return n;
        }""", "-lwork")
    source = tmp_path / "main.c"
    source.write_text("""
        #include <setjmp.h>
        extern jmp_buf out; int step(int n, int again);
        int main(void)
        {
            for (volatile int i = 0; i < 20; i++)
                if (!setjmp(out)) step(i, i % 3 == 0);
            return 7;
        }""")
    program = compiled(tmp_path, source, f"-L{tmp_path}", "-lloop", f"-Wl,-rpath,{tmp_path}")
    table = tmp_path / "steps.ops"
    table.write_text("step | n:i again:i | | | kind=step\nwork | n:i\n")
    done, traces = recorded(tmp_path, program, ops=table, options=[
        "--slice", "1h", "--schedule", "wait=3,warmup=1,active=2,repeat=2"])
    assert (done.returncode, done.stderr) == (7, "")
    for trace, steps in zip(traces, [(4, 5), (10, 11)], strict=True):
        names = [e["name"] for e in trace["traceEvents"] if e["ph"] == "X"]
        assert sorted(name for name in names if name.startswith("Prof")) == [
            f"ProfilerStep#{n}" for n in steps]
        assert (names.count("step"), names.count("work")) == (2, 2)


def test_nothing_but_steps_counts_once_a_table_names_some(tmp_path):
    """Not the time that passes before the first one, and not at all where none comes."""
    library(tmp_path, "work", "int work(int n) { return n; } int step(int n) { return n; }")
    source = tmp_path / "main.c"
    source.write_text("""
        #include <unistd.h>
        int work(int n), step(int n);
        int main(int argc, char **argv)
        {
            (void)argv;
            for (int i = 0; i < 40; i++) work(i), usleep(10000);
            for (int i = 0; i < 8 && argc == 1; i++) step(work(i));
            return 0;
        }""")
    program = compiled(tmp_path, source, f"-L{tmp_path}", "-lwork", f"-Wl,-rpath,{tmp_path}")
    table = tmp_path / "steps.ops"
    table.write_text("step | n:i | | | kind=step\nwork | n:i\n")
    options = ["--slice", "10ms", "--schedule", "wait=2,warmup=1,active=3"]
    done, [trace] = recorded(tmp_path, program, ops=table, options=options)
    assert (done.returncode, done.stderr) == (0, "")
    names = [e["name"] for e in trace["traceEvents"] if e["ph"] == "X"]
    assert sorted(name for name in names if name.startswith("Prof")) == [
        f"ProfilerStep#{n}" for n in (3, 4, 5)]
    done, traces = recorded(tmp_path, program, "none", ops=table, options=options)
    assert (done.returncode, traces) == (0, [])
    assert "--schedule had nothing to count" in done.stderr


def test_calls_that_libraries_tell_of_in_ranges(tmp_path):
    """As rocBLAS and MIOpen name them: shapes and FLOPs, these once, and no call twice."""
    library(tmp_path, "roctx", "int roctxRangePushA(const char *t) { return !t; } int roctxRangePop(void) { return 0; }")
    library(tmp_path, "blas", """
        int roctxRangePushA(const char *), roctxRangePop(void);
        int rocblas_saxpy(void *h, int n, const void *alpha, const void *x, int incx, void *y, int incy)
        {
            roctxRangePushA("rocblas_saxpy,7,1,0x7f,1,0x7f,1,atomics_allowed");
            return roctxRangePop() + (h || alpha || x || y) + incx + incy + n;
        }""", "-lroctx")
    source = tmp_path / "main.c"
    source.write_text("""
        int roctxRangePushA(const char *), roctxRangePop(void);
        int rocblas_saxpy(void *, int, const void *, const void *, int, void *, int);
        int main(void)
        {
            roctxRangePushA("epoch");
            roctxRangePushA("s_api = miopenConvolutionForward | handle = stream: 0 | xDesc = {8, 16, 32, 32}, {16384, "
                            "1024, 32, 1}, packed,  | wDesc = {32, 16, 3, 3}, {144, 9, 3, 1}, packed,  | algo = 0 | "
                            "yDesc = {8, 32, 32, 32}, {32768, 1024, 32, 1}, packed,  | ");
            roctxRangePushA("rocblas_sgemm,N,T,256,128,64,1,0x7f0f78a00000,256,0x7f0f78a00000,128,0,0x7f,256");
            roctxRangePop();
            roctxRangePop();
            roctxRangePushA("rocblas_set_stream,0x7f0f78a00000,atomics_allowed");
            roctxRangePop();
            rocblas_saxpy(0, 7, 0, 0, 1, 0, 1);
            roctxRangePop();
            return 0;
        }""")
    program = compiled(tmp_path, source, f"-L{tmp_path}", "-lblas", "-lroctx", f"-Wl,-rpath,{tmp_path}")
    done, [trace] = recorded(tmp_path, program)
    assert (done.returncode, done.stderr) == (0, "")
    assert operators(trace) == [
        ("epoch", None, None, None),
        ("miopenConvolutionForward", [[8, 16, 32, 32], [32, 16, 3, 3]], ["", ""], 2 * 8 * 32 ** 3 * 16 * 9),
        ("rocblas_sgemm", [[256, 64], [64, 128]], ["float"] * 2, None),
        ("rocblas_set_stream", None, None, None),
        ("rocblas_saxpy", [[7], [7]], ["float"] * 2, 14)]
    done, [trace] = recorded(tmp_path, program, options=["--no-library-ops"])
    assert [op[0] for op in operators(trace)] == [
        "epoch", "miopenConvolutionForward", "rocblas_sgemm", "rocblas_set_stream", "rocblas_saxpy"]


def test_names_as_torch_has_them(tmp_path):
    code = "import numpy; a = numpy.ones((64, 48)); b = numpy.ones((48, 32)); a @ b"
    done, [trace] = recorded(tmp_path, PYTHON, "-c", code, options=["--op-names", "torch"])
    assert done.returncode == 0
    assert operators(trace) == [
        ("aten::mm", [[64, 48], [48, 32]], ["double"] * 2, 2 * 64 * 48 * 32)]


def test_what_a_program_imports_is_told_without_running_it(tmp_path):
    program = compiled(tmp_path, SOURCES / "cpu_libraries.c", "-llapacke", "-lopenblas", "-lfftw3")
    table = tmp_path / "mine.ops"
    table.write_text("fftw_malloc | size\nfftw_alloc_complex | n\n")
    done = plain(HIPBOARD, "info", "--ops", program, "--table", table)
    assert (done.returncode, done.stderr) == (0, "")
    known = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    assert set(known) == {"cblas_sgemm", "sgemm_", "cblas_ddot", "LAPACKE_dgetrf", "fftw_execute",
                          "fftw_plan_dft_1d", "fftw_destroy_plan", "fftw_alloc_complex"}
    assert known["fftw_alloc_complex"] == ["fftw_alloc_complex", "mine.ops:2"]
    as_json = json.loads(plain(HIPBOARD, "info", "--ops", program, "--json").stdout)
    assert {row["symbol"] for row in as_json} == set(known) - {"fftw_alloc_complex"}
    for bad, why in ((table, "is no program or library"), (tmp_path, "is no program"),
                     (tmp_path / "none", "none")):
        done = plain(HIPBOARD, "info", "--ops", bad)
        assert done.returncode == 1 and why in done.stderr
    cut = tmp_path / "cut"
    for size in range(0, 6000, 150):  # any file is read within its bounds
        cut.write_bytes(program.read_bytes()[:size])
        assert plain(HIPBOARD, "info", "--ops", cut).returncode == 1


def test_what_is_linked_in_is_said(tmp_path):
    source, table = tmp_path / "own.c", tmp_path / "own.ops"
    source.write_text("""
        #include <cblas.h>
        #include <fftw3.h>
        int own_step(int n) { return n + 1; }
        double cblas_dnrm2(const blasint n, const double *x, const blasint inc) { return n + inc + x[0]; }
        int main(void)
        {
            float a[4096] = {1}, b[4096] = {1}, c[4096];
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 64, 64, 64, 1, a, 64, b, 64, 0, c, 64);
            double x = 1;
            return own_step((int)cblas_dnrm2(1, &x, 1)) - 4;
        }""")
    table.write_text("own_step | n:i\n")
    program = compiled(tmp_path, source, "-lopenblas")
    lines = plain(HIPBOARD, "info", "--ops", program, "--table", table).stdout.splitlines()
    said = {line.split()[0]: "linked in statically" in line for line in lines}
    assert said == {"cblas_sgemm": False, "cblas_dnrm2": True, "own_step": True}
    rows = json.loads(plain(HIPBOARD, "info", "--ops", program, "--json").stdout)
    assert {row["symbol"]: row["linked_in"] for row in rows} == {"cblas_sgemm": False, "cblas_dnrm2": True}
    done, [trace] = recorded(tmp_path, program, ops=table)
    assert done.returncode == 0
    assert "1 function whose calls are operators is linked into" in done.stderr
    assert "own_step" in str(trace["hipboard_operator_notes"])
    assert [op[0] for op in operators(trace)] == ["cblas_sgemm"]
    library = "/usr/lib/x86_64-linux-gnu/libopenblas.so.0"  # defines them by right
    assert "linked in" not in plain(HIPBOARD, "info", "--ops", library).stdout


def test_installed_tables_are_found(prefix):
    done = plain(prefix / "bin/hipboard", "info", "--ops", prefix / "bin/hipboard")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("None: ")


CLASSES = {"i": "int", "l": "long", "f": "float", "d": "double"}


def random_signatures(count, seed):
    draw = random.Random(seed)
    while count:
        a = [draw.choice("iilfd") for _ in range(draw.randint(0, 30))]
        floats = sum(x in "fd" for x in a)
        stack = max(0, len(a) - floats - 6) + max(0, floats - 8)
        if stack <= 24:
            count -= 1
            yield a, draw.choice("ilfd")


def test_random_signatures(tmp_path):
    """Functions of all kinds of parameters answer as they do without."""
    draw = random.Random(11)
    definitions, calls, table = [], [], []
    for k, (a, result) in enumerate(random_signatures(300, 7)):
        parameters = ", ".join(f"{CLASSES[x]} a{i}" for i, x in enumerate(a)) or "void"
        signature = f"{CLASSES[result]} t{k}({parameters})"
        terms = " ".join(f"s = s * 1.25 + a{i};" for i in range(len(a)))
        definitions.append((signature, f"{{ double s = {k}; {terms} "
                            f"return ({CLASSES[result]})(s - (long)(s / 1e6) * 1e6); }}"))
        values = ", ".join(str(draw.randint(-999, 999)) + (".5" if x in "fd" else "") for x in a)
        calls.append(f'printf("{k} %.17g\\n", (double)t{k}({values}));')
        classes = " ".join(f"a{i}:{'f' if x in 'fd' else 'w' if x == 'l' else 'i'}"
                           for i, x in enumerate(a))
        table.append(f"t{k} | {classes} | |")
    library(tmp_path, "abi", "\n".join(s + b for s, b in definitions))
    source = tmp_path / "main.c"
    source.write_text("#include <stdio.h>\n" + "\n".join(s + ";" for s, _ in definitions) +
                      "\nint main(void) {\n" + "\n".join(calls) + "\nreturn 0; }")
    program = compiled(tmp_path, source, f"-L{tmp_path}", "-labi", f"-Wl,-rpath,{tmp_path}")
    (tmp_path / "abi.ops").write_text("\n".join(table))
    done, [trace] = recorded(tmp_path, program, ops=tmp_path / "abi.ops")
    assert (done.returncode, done.stdout) == (0, plain(program).stdout)
    assert [op[0] for op in operators(trace)] == [f"t{k}" for k in range(300)]


def memory_events(trace):
    """(bytes, device type, device, total) in their order; "oom" in place of a total."""
    found = [e for e in trace["traceEvents"] if e["name"] in ("[memory]", "[OutOfMemory]")]
    return [(a["Bytes"], a["Device Type"], a["Device Id"], a["Total Allocated"] if e["name"] == "[memory]" else "oom")
            for e in found for a in [e["args"]]]


POOL = """
    #include <stdlib.h>
    #include <string.h>
    static char memory[100000], *next = memory;
    void *pool_alloc(void *pool, size_t count, size_t size) { next += 8192; return next; }
    int pool_alloc_to(void **out, size_t bytes)
    { if (bytes > 100000) return 12; *out = pool_alloc(0, bytes, 1); return 0; }
    void *pool_resize(void *at, size_t bytes) { return pool_alloc(0, 1, bytes); }
    void pool_free(void *at) {}
    """

POOL_TABLE = """
pool_alloc    | pool count size | | count*size | kind=memory
pool_alloc_to | out bytes       | | bytes      | kind=memory make=out
pool_resize   | at bytes        | | bytes      | kind=memory make=ret forget=at
pool_free     | at              | |            | kind=memory forget=at
arena_alloc   | device:i bytes  | | bytes+192  | kind=memory device=device
"""


def test_pools_of_a_program_are_memory(tmp_path):
    """What it allocates, moves and frees; a pool within a pool counts once, and what failed is told."""
    library(tmp_path, "pool", POOL)
    library(tmp_path, "arena", "#include <stddef.h>\nvoid *pool_alloc(void *, size_t, size_t);\n"
            "void *arena_alloc(int device, size_t bytes) { return pool_alloc(0, bytes, 2); }", "-lpool")
    program = compiled(tmp_path, SOURCES / "pool.c", f"-L{tmp_path}", "-larena", "-lpool",
                       f"-Wl,-rpath,{tmp_path}")
    table = tmp_path / "pool.ops"
    table.write_text(POOL_TABLE)
    done, [trace] = recorded(tmp_path, program, ops=table)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 12\n", done.stderr)
    assert trace["hipboard_operators"] == len(POOL_TABLE.split("\n")) - 2
    assert memory_events(trace) == [
        (3000, 0, -1, 3000), (500, 0, -1, 3500), (-3000, 0, -1, 500), (7000, 0, -1, 7500),
        (1 << 30, 0, -1, "oom"), (-500, 0, -1, 7000), (256, 1, 2, 256), (-7000, 0, -1, 0)]
    seen = json.loads(plain(HIPBOARD, "memory", tmp_path / "runs", "--json").stdout)["devices"]
    assert [(d["device"], d["peak_bytes"], d["left_bytes"], d["unknown_frees"]) for d in seen] == [
        ("cpu", 7500, 0, 0), ("cuda:2", 256, 256, 0)]
    assert "Memory" in plain(HIPBOARD, "query", tmp_path / "runs", "views?run=runs").stdout


def test_loaders_are_judged_by_time(tmp_path):
    """Long calls are data loading, short ones are summed up; so are those on pipes no loading at all. A
    function within which something is recorded is known from its second call on."""
    library(tmp_path, "inner", "int inner(int n) { return n; }")
    library(tmp_path, "load", """
        #include <unistd.h>
        int inner(int);
        int slow(int fd, long n) { usleep(20000); return 0; }
        int quick(long n) { return 0; }
        int holds(int n) { return inner(n); }""", "-linner")
    source = tmp_path / "main.c"
    source.write_text("""
        #include <fcntl.h>
        #include <unistd.h>
        int slow(int, long), quick(long), holds(int);
        int main(int argc, char **argv)
        {
            int pipes[2], file = open(argv[0], O_RDONLY);
            char byte;
            if (pipe(pipes)) return 1;
            slow(pipes[0], 10);
            slow(file, 20);
            for (int i = 0; i < 100; i++) quick(1000);
            for (int i = 0; i < 3; i++) holds(i);
            for (int i = 0; i < 50; i++)
                if (pread(file, &byte, 1, i) != 1) return 2;
            return 0;
        }""")
    program = compiled(tmp_path, source, f"-L{tmp_path}", "-lload", "-linner", f"-Wl,-rpath,{tmp_path}")
    table = tmp_path / "load.ops"
    table.write_text("slow | fd:i n | | n | kind=loader min=1ms file=fd\nquick | n | | n | kind=loader min=3600s\n"
                     "holds | n:i | | | kind=loader min=1ns\ninner | n:i\n")
    done, [trace] = recorded(tmp_path, program, ops=table, options=["--loaders"])
    assert done.returncode == 0, done.stderr
    names = [e["name"] for e in sorted((e for e in trace["traceEvents"] if e["ph"] == "X"),
                                       key=lambda e: (e["ts"], -e["dur"]))]
    loader = "enumerate(DataLoader)#{}.__next__".format
    assert names.count(loader("slow")) == 1
    [event] = [e for e in trace["traceEvents"] if e["name"] == loader("slow")]
    assert event["dur"] >= 20000
    assert loader("quick") not in names
    assert [n for n in names if n in ("inner", loader("holds"))] == ["inner", *[loader("holds"), "inner"] * 2]
    small = trace["hipboard_operators_small"]
    assert {k: v for k, v in small["quick"].items() if k != "ns"} == {"calls": 100, "bytes": 100000}
    assert small["holds"]["calls"] == 1
    whole = next(e["dur"] for e in trace["traceEvents"] if e["name"] == "PyTorch Profiler (0)")
    assert 0 < small["quick"]["ns"] < 1e3 * whole
    [note] = [note for note in trace["hipboard_operator_notes"] if " of quick " in note]
    assert note == ("100 calls of quick that took less than 3.6e+09 us, or within which something was recorded, are "
                    f"not recorded, {small['quick']['ns'] / 1e6:.6g} ms in all")
    assert names.count(loader("pread")) + small.get("pread", {"calls": 0})["calls"] == 50
    [loading] = [line for line in plain(HIPBOARD, "view", tmp_path / "runs").stdout.splitlines()
                 if line.startswith("DataLoader")]
    assert "0 us" not in loading.split("  ")


def test_lines_of_memory_and_times_that_make_no_sense(tmp_path):
    library(tmp_path, "work", "int work(int n) { return n; }")
    source = tmp_path / "main.c"
    source.write_text("int work(int); int main(void) { return work(3); }")
    program = compiled(tmp_path, source, f"-L{tmp_path}", "-lwork", f"-Wl,-rpath,{tmp_path}")
    table = tmp_path / "odd.ops"
    table.write_text("work | n:i\na | n:i | | | kind=memory\nb | n:i | | n | kind=memory device=gpu\n"
                     "c | n:i | | | min=3us\nd | n:i | | | kind=loader min=3h\ne | n:i | | | kind=loader file=n\n")
    done, [trace] = recorded(tmp_path, program, ops=table)
    assert done.returncode == 3
    said = [line.split(": ", 2)[1:] for line in done.stderr.splitlines()]
    assert [(where.rsplit(":", 2)[1], what.split(" ")[0]) for where, what in said] == [
        ("2", "kind=memory"), ("3", "wanted:"), ("4", "a"), ("5", "wanted:"), ("6", "file=")]
    assert [op[0] for op in operators(trace)] == ["work"]
