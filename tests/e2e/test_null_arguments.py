# SPDX-License-Identifier: MIT
"""Every public function of libhipboard-analysis that can fail, each of its arguments being NULL: it says so."""
import ctypes
import faulthandler
import functools
import os
import re

import pytest

import made_ranks
from support import BUILD, ROOT

INVALID = 1
# What headers let be NULL, of all functions and of some.
OPTIONAL = {"options", "context", "size", "device", "metric", "report"}
OPTIONAL_OF = {"hb_step_summary_add": {"run", "worker", "span"}, "hb_import_write": {"path"}}
HEADERS = ("analysis", "ranks", "compare", "page", "pack", "convert", "export", "import")


def declared():
    """{function: [(type, name)]} of those with a result."""
    text = "".join((ROOT / f"include/hipboard/{name}.h").read_text() for name in HEADERS)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for name, arguments in re.findall(r"HB_API hb_result\s+(hb_\w+)\(([^;]*)\);", text, re.S):
        arguments = re.sub(r"\(\*(\w+)\)\([^)]*\)", r"(*) \1", " ".join(arguments.split()))
        yield name, [re.fullmatch(r"(.*?)(\w+)", part.strip()).groups() for part in arguments.split(",")]


@functools.cache
def library():
    return ctypes.CDLL(str(BUILD / "src/analysis/libhipboard-analysis.so.0"))


def made(function, *arguments):
    """The object that it gives by its last argument."""
    place = ctypes.c_void_p()
    assert getattr(library(), function)(*arguments, ctypes.byref(place)) == 0, function
    return place


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    job = tmp_path_factory.mktemp("null") / "job"
    made_ranks.write(job, 3)
    path, first = str(job).encode(), str(min(job.iterdir())).encode()
    paths = (ctypes.c_char_p * 2)(first, first)
    other = job.with_name("other.json")
    other.write_text('[{"ph":"X","cat":"v8","name":"compile","pid":1,"tid":1,"ts":1,"dur":2}]')
    others = (ctypes.c_char_p * 1)(str(other).encode())
    file = made("hb_trace_file_open", first, None)
    ranks = made("hb_ranks_begin")
    for worker in b"a", b"b":
        assert library().hb_ranks_add(ranks, file, worker) == 0
    study = made("hb_rank_study_create", None)
    assert library().hb_rank_study_add(study, path) == 0
    return {
        "hb_logdir": made("hb_logdir_open", path, None), "hb_trace_file": file, "hb_ranks": ranks,
        "hb_insights": made("hb_insights_create", file, None), "hb_rank_study": study,
        "hb_key_averages": made("hb_key_averages_create", file, None),
        "hb_memory_profile": made("hb_memory_profile_create", file),
        "hb_step_summary": made("hb_step_summary_create"),
        "hb_comparison": made("hb_compare", paths, ctypes.c_size_t(2), None),
        "hb_page": made("hb_page_open", paths, ctypes.c_size_t(1), None),
        "hb_import": made("hb_import_open", others, ctypes.c_size_t(1), None),
        "path": first, "out": str(job / "out").encode(), "paths": paths}


def valid(objects, kind, name):
    """Something for an argument."""
    handle = re.fullmatch(r"(?:const )?(hb_\w+) \*", kind)
    if handle and handle[1] in objects:
        return objects[handle[1]]
    if "char *const *" in kind:
        return objects["paths"]
    if kind in ("const char *",):
        return objects["out"] if name in ("output", "directory") else objects["path"]
    if "(*)" in kind:
        return NEVER
    if kind.endswith("*"):
        return ctypes.create_string_buffer(4096)
    return ctypes.c_size_t(1 if name in ("num_paths", "count") else 0)


def of_one_object():
    """{function: what it gives} of those that are asked one thing of an object, or end it."""
    text = "".join((ROOT / f"include/hipboard/{name}.h").read_text() for name in HEADERS)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for kind, name in re.findall(r"HB_API ([\w ]+[ *])(hb_\w+)\((?:const )?hb_\w+ \*\w+\);", text):
        if kind.strip() != "hb_result":
            yield name, kind.strip()


NEVER = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p)(lambda *_: False)


def ends_with(call):
    """Its result in a process of its own; None: it did not come back."""
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        os._exit(call() & 127)
    _, status = os.waitpid(child, 0)
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else None


def required(name, arguments):
    """Places of pointers that may not be NULL."""
    return [i for i, (kind, argument) in enumerate(arguments)
            if kind.strip().endswith(("*", "*)")) and argument not in OPTIONAL | OPTIONAL_OF.get(name, set())]


def test_null_is_refused(objects):
    """Of a profiler's own functions others tell (test_live_tables)."""
    wrong, tried = [], 0
    for name, arguments in declared():
        if "hb_profiler" in arguments[0][0]:
            continue
        for i in required(name, arguments):
            given = [None if k == i else valid(objects, part, word) for k, (part, word) in enumerate(arguments)]
            argument, tried = arguments[i][1], tried + 1
            result = ends_with(lambda: getattr(library(), name)(*given))
            if result != INVALID:
                wrong.append(f"{name}({argument}: NULL) -> {'a crash' if result is None else result}")
    assert tried > 150 and not wrong, "\n".join(wrong)


# What a function gives that has nothing to ask.
NOTHING = {"const char *": (ctypes.c_char_p, (None, b"")), "bool": (ctypes.c_bool, (False,)), "void": (None, (None,)),
           "double": (ctypes.c_double, (0.0,)), "int": (ctypes.c_int, (0,)), "size_t": (ctypes.c_size_t, (0,)),
           "uint32_t": (ctypes.c_uint32, (0,)), "uint64_t": (ctypes.c_uint64, (0,)), "int64_t": (ctypes.c_int64, (0,))}


def test_nothing_is_known_of_null():
    wrong, tried = [], 0
    for name, kind in of_one_object():
        result, nothing = NOTHING[kind]
        function = getattr(library(), name)
        function.restype, tried = result, tried + 1
        came_back = ends_with(lambda: 0 if function(None) in nothing else 1)
        if came_back != 0:
            wrong.append(f"{kind} {name}(NULL): {'a crash' if came_back is None else 'not nothing'}")
    assert tried > 25 and not wrong, "\n".join(wrong)
