# SPDX-License-Identifier: MIT
"""The lines of hipboard's own tables beside the headers of their libraries: each parameter that a line names is
there, and of the class that it says."""
import itertools
import os
import re
import subprocess
from pathlib import Path

import pytest

from support import ROOT

RUNTIMES = Path(os.environ.get("SIMHSA_RUNTIMES") or
                Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hipboard/runtimes")
AMD = RUNTIMES / "fft/usr/include"

CHECKS = """
#include <cstdint>
#include <cstddef>
#include <tuple>
#include <type_traits>
template <class F> struct of;
template <class R, class... A> struct of<R (*)(A...)> { using list = std::tuple<A...>; };
template <class R, class... A> struct of<R (*)(A...) noexcept> { using list = std::tuple<A...>; };
template <class F, std::size_t N> using at = std::tuple_element_t<N, typename of<F>::list>;
template <class T> constexpr bool number = std::is_integral_v<T> || std::is_enum_v<T>;
template <class T> using behind = std::remove_pointer_t<T>;
template <class T> constexpr std::size_t size_of = sizeof(T);
template <> constexpr std::size_t size_of<void> = 0;
template <> constexpr std::size_t size_of<const void> = 0;
template <class T> constexpr bool word = sizeof(T) == 8 && !std::is_floating_point_v<T>;
template <class T> constexpr bool real = std::is_floating_point_v<T>;
template <class T, std::size_t S> constexpr bool integer = number<T> && sizeof(T) <= S && (S == 4 || sizeof(T) == S);
template <class T, std::size_t S> constexpr bool address = std::is_pointer_v<T> && (!S || size_of<behind<T>> == S);
"""

# Which headers a table's functions stand in.
HEADERS = {
    "blas": ["cblas.h", "f77blas.h"],
    "lapack": ["lapacke.h"],
    "fft": ["fftw3.h"],
    "dnnl": ["dnnl.h"],
    "rocm": ["hip/hip_runtime_api.h", "rocblas/rocblas.h", "hipblas/hipblas.h", "hipblaslt/hipblaslt.h",
             "rocsolver/rocsolver.h", "rocsparse/rocsparse.h", "miopen/miopen.h", "rocfft/rocfft.h", "hipfft/hipfft.h",
             "rocrand/rocrand.h", "hiprand/hiprand.h", "hipblaslt/hipblaslt-ext-op.h", "hip/hiprtc.h"],
}


def spellings(symbol):
    """(name, whether its sizes are wide) of all that a symbol with {letters} and [optional] parts stands for."""
    parts = re.split(r"(\{[a-zA-Z]+\}|\[[^\]]*\])", symbol)
    choices = [list(p[1:-1]) if p[:1] == "{" else ["", p[1:-1]] if p[:1] == "[" else [p] for p in parts]
    for chosen in itertools.product(*choices):
        name = "".join(chosen)
        yield name, name.endswith(("64", "64_"))


def rows(table):
    """(name, parameters' classes) of each function, the last line of each."""
    found = {}
    for line in (ROOT / f"share/hipboard/{table}.ops.in").read_text().splitlines():
        line = re.sub(r"#(\s.*|$)", "", line).strip()
        cells = [cell.strip() for cell in line.split("|")]
        if not line or line.startswith("map ") or cells[0].startswith("_Z"):
            continue
        classes = [p.partition(":")[2] or "w" for p in (cells[1] if len(cells) > 1 else "").split()]
        for name, wide in spellings(cells[0]):
            found[name] = [check(c, wide) for c in classes]
    return found


def check(letter, wide):
    native = 8 if wide else 4
    if letter[0] == "S":
        return f"sizeof(T) == {8 * int(letter[1:])}"
    return {"w": "word<T>", "i": "integer<T, 4>", "n": f"integer<T, {native}>", "f": "real<T>", "p": "address<T, 0>",
            "I": "address<T, 4>", "N": f"address<T, {native}>", "J": "address<T, 4>", "K": "address<T, 8>"}[letter]


def compiled(text, tmp_path, *options):
    source = tmp_path / "headers.cpp"
    source.write_text(text)
    folders = ["-I", AMD] if AMD.is_dir() else []
    return subprocess.run(["c++", "-std=c++17", "-w", "-D__HIP_PLATFORM_AMD__", "-DLAPACK_COMPLEX_CPP", *folders, *options,
                           source], capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize("table", HEADERS)
def test_parameters_are_those_of_the_headers(table, tmp_path):
    if table == "rocm" and not AMD.is_dir():
        pytest.skip("needs Debian's headers of AMD's libraries (tools/simhsa/fetch_runtimes.sh fft)")
    includes = "".join(f"#include <{header}>\n" for header in HEADERS[table])
    whole = compiled(includes, tmp_path, "-E")
    assert whole.returncode == 0, whole.stderr
    declared = set(re.findall(r"\b(\w+)\s*\)?\s*\(", whole.stdout))
    known = rows(table)
    there = {name: checks for name, checks in known.items() if name in declared}
    text = [CHECKS, includes]
    for name, checks in there.items():
        for i, condition in enumerate(checks):
            text.append(f"static_assert({condition.replace('T', f'at<decltype(&{name}), {i}>')}, "
                        f"\"{name}, parameter {i}: {condition}\");")
    done = compiled("\n".join(text), tmp_path, "-fsyntax-only")
    wrong = sorted(set(re.findall(r"error: .*", done.stderr)))
    assert done.returncode == 0, "\n".join(wrong)
    plain = {name for name in known if not name.startswith("scipy_") and not name.endswith(("64", "64_"))}
    missing = sorted(plain - set(there))
    print(f"{table}: {len(there)} functions, of plain names {len(plain) - len(missing)} of {len(plain)}; not: {missing}")
    assert len(missing) <= 0.1 * len(plain), missing


ROCBLAS = {"f16_r": "f16", "f32_r": "f32", "f64_r": "f64", "f32_c": "c64", "f64_c": "c128", "i8_r": "i8", "u8_r": "u8",
           "i32_r": "i32", "bf16_r": "bf16", "f8_r": "f8fnuz", "bf8_r": "bf8fnuz"}
HIP = {"R_32F": "f32", "R_64F": "f64", "R_16F": "f16", "R_8I": "i8", "C_32F": "c64", "C_64F": "c128", "R_8U": "u8",
       "R_32I": "i32", "R_16BF": "bf16"}
FLOAT8 = {"R_8F_E4M3": "f8", "R_8F_E5M2": "bf8", "R_8F_E4M3_FNUZ": "f8fnuz", "R_8F_E5M2_FNUZ": "bf8fnuz"}
HIPBLAS = {**HIP, "R_16B": "bf16"}
del HIPBLAS["R_16BF"]
# By what names the headers call the numbers of a map.
NUMBERS = {
    "rocblas": {f"rocblas_datatype_{name}": kind for name, kind in ROCBLAS.items()},
    "hipblas": {**{f"HIP_{name}": kind for name, kind in HIP.items()},
                **{f"HIPBLAS_{name}": kind for name, kind in HIPBLAS.items()}},
    "hip": {f"HIP_{name}": kind for name, kind in {**HIP, **FLOAT8}.items()},
    "hipfft": {"HIPFFT_C2C": "c64", "HIPFFT_R2C": "f32", "HIPFFT_C2R": "c64", "HIPFFT_Z2Z": "c128", "HIPFFT_D2Z": "f64",
               "HIPFFT_Z2D": "c128"},
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_types_are_those_of_the_headers(name, tmp_path):
    if not AMD.is_dir():
        pytest.skip("needs Debian's headers of AMD's libraries (tools/simhsa/fetch_runtimes.sh fft)")
    text = (ROOT / "share/hipboard/rocm.ops.in").read_text()
    [line] = re.findall(rf"^map {name} +(.*)$", text, re.M)
    source = "#include <cstdio>\n" + "".join(f"#include <{header}>\n" for header in
                                             ("rocblas/rocblas.h", "hipblas/hipblas.h", "hip/library_types.h", "hipfft/hipfft.h"))
    source += "int main() {\n" + "".join(f'    std::printf("%d={kind} ", (int){word});\n'
                                         for word, kind in NUMBERS[name].items()) + "}\n"
    made = compiled(source, tmp_path, "-o", tmp_path / "numbers")
    assert made.returncode == 0, made.stderr
    told = subprocess.run([tmp_path / "numbers"], capture_output=True, text=True, check=True).stdout
    assert set(line.split()) == set(told.split())
