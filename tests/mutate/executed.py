# SPDX-License-Identifier: MIT
"""Which blocks of a source each test executes, from a build with coverage.c linked to everything.

A block is (file, function, offset): where it stands in any program or library that it is linked to."""
import bisect
import re
import subprocess
from pathlib import Path

SITE = "__sanitizer_cov_trace_pc"


def output(*command, given=None):
    return subprocess.run(command, input=given, capture_output=True, text=True, errors="replace",
                          check=True).stdout


def functions(path):
    """[(address, size, file, name, section)] sorted; file is "" of what is not static."""
    found, file = [], ""
    for line in output("readelf", "-sW", str(path)).splitlines():
        part = line.split()
        if len(part) < 7 or not part[0].endswith(":"):
            continue
        if part[3] == "FILE":
            file = part[7] if len(part) > 7 else ""  # what was hidden comes behind one without name
        elif part[3] == "FUNC" and part[6] != "UND":
            size = int(part[2], 0)
            found.append((int(part[1], 16), size, file if part[4] == "LOCAL" else "", part[7],
                          part[6]))
    return sorted(set(found))


def blocks_at(table, addresses):
    starts = [row[0] for row in table]
    for address in addresses:
        i = bisect.bisect_right(starts, address) - 1
        if i >= 0 and address <= table[i][0] + table[i][1]:
            yield (table[i][2], table[i][3], address - table[i][0])


def unversioned(name):
    """Libraries are loaded by their short names."""
    return re.sub(r"\.so[.\d]*$", ".so", name)


class Marks:
    """What programs marked since the last time that one looked."""

    def __init__(self, directory, modules):
        self.directory = Path(directory)
        self.modules = {}
        for module in modules:
            self.modules.setdefault(unversioned(Path(module).name), Path(module))
        self.tables = {}

    def forget(self):
        self.directory.mkdir(exist_ok=True)
        self.directory.chmod(0o777)
        mapped = Path("/proc/self/maps").read_text()
        for path in self.directory.iterdir():
            if str(path) in mapped: # by a library that a test has loaded: it goes on marking there
                with path.open("r+b") as file:
                    file.write(bytes(path.stat().st_size))
            else:
                path.unlink()

    def blocks(self):
        found = set()
        for path in self.directory.iterdir():
            name = unversioned(path.name)
            if name in self.modules:
                if name not in self.tables:
                    self.tables[name] = functions(self.modules[name])
                marked = [match.start() for match in re.finditer(b"\1", path.read_bytes())]
                found.update(blocks_at(self.tables[name], marked))
        return found


def sites(source, objects):
    """{block: (line, column)} of all blocks that these objects of the source have."""
    found = {}
    for path in objects:
        numbers = {match[2]: match[1] for match in re.finditer(
            r"\[ *(\d+)\] (\S+) +PROGBITS", output("readelf", "-SW", str(path)))}
        table, section = functions(path), None
        calls = {}
        for line in output("readelf", "-rW", str(path)).splitlines():
            if line.startswith("Relocation section"):
                section = numbers.get(line.split("'")[1].removeprefix(".rela"))
            elif SITE in line and section:
                calls.setdefault(section, []).append(int(line.split()[0], 16) + 4)
        for section, addresses in calls.items():
            own = [row for row in table if row[4] == section]
            text = output("llvm-symbolizer", "--no-inlines", "--functions=none", f"--obj={path}",
                          given="".join(f"{address - 1:#x}\n" for address in addresses))
            for address, place in zip(addresses, text.split("\n\n")):
                for block in blocks_at(own, [address]):
                    at = re.search(rf"/{re.escape(source.name)}:(\d+):(\d+)$", place)
                    if at and int(at[1]):
                        found[block] = (int(at[1]), int(at[2]))
    return found


def in_function(text, at):
    """Functions begin with a brace of its own line, and end with one; tables end with "};"."""
    braces = re.findall(r"^(?:\{|\};?)$", text[:at], re.M)
    return bool(braces) and braces[-1] == "{"


def executing(text, fault, blocks, executed):
    """Names of the tests that execute what stands in the text where the fault is. Tables stand outside
    of functions: who executes anything of the file."""
    kind, begin, end, replacement = fault
    wanted = set(blocks)
    if in_function(text, begin):
        wanted = around(text, place(text, begin), place(text, end), replacement == ";", blocks)
        if kind in ("and for or", "or for and"): # what stands in front of it may be jumped over
            line = place(text, begin)[0]
            wanted |= {block for block, at in blocks.items() if at[0] == line}
            wanted |= last_before(text, (line, 0), blocks)
    return {name for name, those in executed.items() if wanted & those}


def around(text, first, last, whole, blocks):
    """A block is known by the place of its first operation, which may stand behind what belongs to it:
    then the ones before and behind are taken as well, unless the fault is the whole statement."""
    own = {block: at for block, at in blocks.items() if (first[0], 0) <= at < last}
    if any(at <= first for at in own.values()):
        begins = max(at for at in own.values() if at <= first)
        return {block for block, at in own.items() if at >= begins}
    if whole and own:
        return set(own)
    function = function_of(text, first)
    inside = {block: at for block, at in blocks.items() if at > function}
    before = [at for at in inside.values() if at < (first[0], 0)]
    behind = [at for at in inside.values() if at >= last]
    nearest = {max(before, default=None), min(behind, default=None)}
    return {block for block, at in inside.items() if at in nearest} | set(own)


def last_before(text, at, blocks):
    """Where a condition's first part stands, if that has no block of its own."""
    function = function_of(text, at)
    inside = [where for where in blocks.values() if function < where < at]
    return {block for block, where in blocks.items() if inside and where == max(inside)}


def function_of(text, at):
    """Where the function begins in which the place is."""
    return max(place(text, match.start()) for match in re.finditer(r"^\{$", text, re.M)
               if place(text, match.start()) <= at)


def place(text, at):
    """(line, column), from 1 on."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
