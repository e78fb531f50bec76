# SPDX-License-Identifier: MIT
"""stub_libraries.py OUT HAVE:HAVE... FILE...: libraries for those that the files are linked to and that
neither these directories nor the machine have. Their functions do nothing and return 0: enough for
programs that are linked to BLAS or FFT and hardly call them. STUB_TRACE=1 lets them say their names."""
import os
import re
import subprocess
import sys
from pathlib import Path


def lines_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def needed(file):
    found = (re.search(r"NEEDED.*\[(.*)\]", line) for line in lines_of("readelf", "-dW", file))
    return {match.group(1) for match in found if match}


def symbols(file, which):
    """Names by version, None for most; without those that may be missing."""
    for line in lines_of("nm", "-D", which, file):
        *_, kind, name = line.split()
        if kind not in "wvN":
            yield name.partition("@")[0]


def is_there(library, places):
    return any((place / library).exists() for place in places)


def source(names):
    yield "#include <stdio.h>\n#include <stdlib.h>\n"
    yield "static int called(const char *name) { if (getenv(\"STUB_TRACE\")) fprintf(stderr, \"stub %s\\n\", name); return 0; }\n"
    for i, name in enumerate(names):
        yield f'int f{i}(void) __asm__("{name}"); int f{i}(void) {{ return called("{name}"); }}\n'


def build(out, soname, text):
    subprocess.run(["cc", "-w", "-shared", "-fPIC", f"-Wl,-soname,{soname}", "-x", "c", "-", "-o", out / soname],
                   input=text, text=True, check=True)


def main():
    out, places, files = Path(sys.argv[1]), [Path(p) for p in sys.argv[2].split(":")], sys.argv[3:]
    system = [Path("/lib64"), Path("/usr/lib/x86_64-linux-gnu")]
    out.mkdir(parents=True, exist_ok=True)
    wanted = set().union(*map(needed, files))
    missing = sorted(library for library in wanted if not is_there(library, places + system))
    there = [place / library for library in wanted for place in places + system
             if (place / library).exists()]
    known = {name for file in [*files, *there] for name in symbols(file, "--defined-only")}
    undefined = {name for file in files for name in symbols(file, "--undefined-only")}
    names = sorted(undefined - known)
    for i, library in enumerate(missing):
        build(out, library, "".join(source(names if i == 0 else [])))
    print(f"stubs: {len(missing)} libraries, {len(names)} functions")


main()
