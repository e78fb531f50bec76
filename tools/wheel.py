#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a wheel of this checkout, for machines like this one.

    python3 tools/wheel.py [DIRECTORY]       into DIRECTORY (packages)

`pip install` of the file gives the command `hipboard` with all that it loads, its libraries, the tab in
TensorBoard, and the licences of all of it. Needs what building needs (tools/setup.sh build) and patchelf.
"""
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAME = "hipboard"
# What every Linux has, as manylinux sees it.
SYSTEM = re.compile(r"(libc|libm|libdl|librt|libpthread|libresolv|libz|libgcc_s|ld-linux[\w-]*)\.so")
# What only compiling programs takes.
FOR_COMPILERS = re.compile(r"include/|lib/[^/]*\.a$|lib/pkgconfig/|lib/cmake/|lib/[^/]*\.so$")

METADATA = """Metadata-Version: 2.1
Name: hipboard
Version: {version}
Summary: torch.profiler for native programs: record, look at and mend traces; a tab of TensorBoard
License: MIT, and those of the libraries in lib/hipboard: see licenses/
Requires-Python: >=3.9
Provides-Extra: tensorboard
Requires-Dist: tensorboard>=2.21; extra == "tensorboard"
Description-Content-Type: text/markdown

The command `hipboard`, its libraries, its page and its tab of TensorBoard.
"""
OTHERS = """The libraries below stand unchanged in lib/hipboard, but for where they look for each other. They are
Debian's, whose source packages (https://deb.debian.org/debian) have their source; a file there may be
replaced by another build of the same library.

"""


def say(text):
    print(f"hipboard: {text}")


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if done.returncode:
        sys.exit(f"{done.stdout[-3000:]}\nhipboard: failed: {' '.join(map(str, command))}")
    return done.stdout


def install(work):
    """Where all of it is, as in a prefix; and its version."""
    to = work / "all"
    version = run("bash", ROOT / "tools/release.sh", "lib", to).strip()
    return to / "usr", version


def thin_out(prefix):
    """Only what runs is taken; a library stands once, under the name that is asked for."""
    for link in sorted(prefix.glob("lib/lib*.so.*")):
        if link.is_symlink():
            target = link.resolve()
            link.unlink()
            target.rename(link)
    for path in sorted(prefix.rglob("*")):
        if not path.is_dir() and FOR_COMPILERS.match(str(path.relative_to(prefix))):
            path.unlink()


def is_elf(path):
    return not path.is_dir() and path.read_bytes()[:4] == b"\x7fELF"


def elves(prefix):
    return [path for path in sorted(prefix.rglob("*")) if is_elf(path)]


def add_libraries(prefix):
    """Others' libraries that are needed: copied; returned with where they come from."""
    own = os.pathsep.join(str(path) for path in (prefix / "lib", prefix / "lib/hipboard"))
    found = {}
    for path in elves(prefix):
        listed = run("ldd", path, env=dict(os.environ, LD_LIBRARY_PATH=own))
        for name, source in re.findall(r"^\s*(\S+) => (\S+|not found)", listed, re.M):
            if SYSTEM.match(name) or source.startswith(str(prefix)):
                continue
            if source == "not found":
                sys.exit(f"hipboard: {path.name} needs {name}, which is not here")
            found[name] = Path(source)
    for name, source in found.items():
        shutil.copy(source, prefix / "lib/hipboard" / name)
    return found


def point_at_each_other(prefix):
    for path in elves(prefix):
        to_lib = os.path.relpath(prefix / "lib", path.parent)
        places = [f"$ORIGIN/{to_lib}", f"$ORIGIN/{to_lib}/hipboard"]
        run("patchelf", "--set-rpath", ":".join(places).replace("/.:", ":").replace("/./", "/"), path)


def package_of(source):
    for path in (source, source.resolve(), Path("/usr") / str(source).lstrip("/")):
        done = subprocess.run(["dpkg", "-S", str(path)], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    sys.exit(f"hipboard: no Debian package has {source}, so its licence is not known")


def licences(found):
    """{name: text}: ours, and of each package that a library is of."""
    packages = {name: package_of(source) for name, source in sorted(found.items())}
    texts = {"LICENSE": (ROOT / "LICENSE").read_text()}
    listing = OTHERS
    for name, package in packages.items():
        version = run("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}", package)
        listing += f"{name}: package {package}, of the source package {version}: {package}.copyright\n"
        texts[f"{package}.copyright"] = Path(f"/usr/share/doc/{package}/copyright").read_text()
    texts["OTHERS"] = listing
    return texts


def platform(prefix):
    """The oldest glibc with all that is asked of it, as a tag."""
    asked = [tuple(map(int, version)) for path in elves(prefix)
             for version in re.findall(r"GLIBC_(\d+)\.(\d+)", run("readelf", "-V", path))]
    machine = os.uname().machine
    return "manylinux_{}_{}_{}".format(*max(asked), machine)


class Wheel:
    def __init__(self, path):
        self.file = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.record = []

    def add(self, name, data, mode=0o644):
        info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
        info.external_attr = (0o100000 | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.file.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f'"{name}",sha256={digest},{len(data)}\n')

    def close(self, info):
        record = f"{info}/RECORD"
        self.record.append(f"{record},,\n")
        self.file.writestr(record, "".join(self.record))
        self.file.close()


def entry_points():
    """Those of the tab's own package."""
    text = (ROOT / "tools/tensorboard/pyproject.toml").read_text()
    section = re.search(r'^\[project\.entry-points\.(\w+)\]\n((?:\w+ = ".*"\n)+)', text, re.M)
    return f"[{section[1]}]\n" + section[2].replace('"', "")


def write(prefix, version, texts, to):
    tag = f"py3-none-{platform(prefix)}"
    path = to / f"{NAME}-{version}-{tag}.whl"
    info, data = f"{NAME}-{version}.dist-info", f"{NAME}-{version}.data"
    wheel = Wheel(path)
    for file in sorted((ROOT / "tools/tensorboard/hipboard_tensorboard").glob("*.[pj][ys]")):
        wheel.add(f"hipboard_tensorboard/{file.name}", file.read_bytes())
    for file in sorted(path for path in prefix.rglob("*") if path.is_file()):
        name = file.relative_to(prefix)
        place = f"scripts/{name.name}" if name.parts[0] == "bin" else f"data/{name}"
        wheel.add(f"{data}/{place}", file.read_bytes(), 0o755 if os.access(file, os.X_OK) else 0o644)
    for name, text in sorted(texts.items()):
        wheel.add(f"{info}/licenses/{name}", text.encode())
    wheel.add(f"{info}/METADATA", METADATA.format(version=version).encode())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: hipboard\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
    wheel.add(f"{info}/entry_points.txt", entry_points().encode())
    wheel.close(info)
    return path


def main():
    if len(sys.argv) > 2 or sys.argv[1:] and sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    for tool in "meson", "ninja", "patchelf", "ldd", "readelf":
        if not shutil.which(tool):
            sys.exit(f"hipboard: {tool} is not here (Debian: apt install {tool})")
    to = Path(sys.argv[1] if len(sys.argv) > 1 else "packages").resolve()
    to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        say("building")
        prefix, version = install(Path(work))
        thin_out(prefix)
        found = add_libraries(prefix)
        point_at_each_other(prefix)
        say(write(prefix, version, licences(found), to))


main()
