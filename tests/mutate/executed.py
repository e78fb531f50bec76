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


class Marks:
    """What programs marked since the last time that one looked."""

    def __init__(self, directory, modules):
        self.directory = Path(directory)
        self.modules = {}
        for module in modules:
            self.modules.setdefault(Path(module).name, Path(module))
        self.tables = {}

    def forget(self):
        self.directory.mkdir(exist_ok=True)
        self.directory.chmod(0o777)
        for path in self.directory.iterdir():
            path.unlink()

    def blocks(self):
        found = set()
        for path in self.directory.iterdir():
            if path.name in self.modules:
                if path.name not in self.tables:
                    self.tables[path.name] = functions(self.modules[path.name])
                marked = [match.start() for match in re.finditer(b"\1", path.read_bytes())]
                found.update(blocks_at(self.tables[path.name], marked))
        return found


def sites(objects):
    """{block: line} of all blocks that these objects of one source have."""
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
            text = output("llvm-symbolizer", "--no-inlines", "--functions=none",
                          "--output-style=GNU", f"--obj={path}",
                          given="".join(f"{address - 1:#x}\n" for address in addresses))
            for address, place in zip(addresses, text.split("\n")):
                for block in blocks_at(own, [address]):
                    line = re.search(r":(\d+)", place)
                    if line and int(line[1]):
                        found[block] = int(line[1])
    return found


def in_function(text, at):
    """Functions begin with a brace of its own line, and end with one; tables end with "};"."""
    braces = re.findall(r"^(?:\{|\};?)$", text[:at], re.M)
    return bool(braces) and braces[-1] == "{"


def executing(text, at, lines, executed):
    """Names of the tests that execute what stands in the text at that place. Tables stand outside of
    functions: who executes anything of the file."""
    line = text.count("\n", 0, at) + 1
    if in_function(text, at):
        last = max((known for known in lines.values() if known <= line), default=None)
        wanted = {block for block, known in lines.items() if known == last}
    else:
        wanted = set(lines)
    return {name for name, blocks in executed.items() if wanted & blocks}
