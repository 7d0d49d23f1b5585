"""Compiles an extension as torch's own builder does: the same flags, for one architecture.

Most of what that takes is torch's headers. Sources that use few of its names are compiled first with headers of those names alone, which
takes a third of the time; where that fails, torch's own are the judges.
"""
import concurrent.futures
import glob
import os
import re
import subprocess
import sysconfig

import torch.utils.cpp_extension as torch_extension

OPERATORS = os.path.join(os.path.dirname(torch_extension.__file__), "../include/ATen/ops")
NAMES = re.compile(r"\b(?:torch|at)::(\w+)")
INCLUDES = re.compile(r'#\s*include\s*[<"]([^>"]+)')
OWN_HEADERS = {"torch/extension.h", "torch/types.h", "torch/torch.h", "torch/all.h", "torch/python.h"}
LIGHT = """#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/Dispatch.h>
#include <ATen/TensorUtils.h>
#include <c10/util/Exception.h>
#include <optional>
{}
namespace torch {{
using namespace at;
using std::nullopt;
using std::optional;
using Dtype = at::ScalarType;
constexpr auto kUInt8 = at::kByte;
constexpr auto kInt8 = at::kChar;
constexpr auto kInt16 = at::kShort;
constexpr auto kInt32 = at::kInt;
constexpr auto kInt64 = at::kLong;
constexpr auto kFloat16 = at::kHalf;
constexpr auto kFloat32 = at::kFloat;
constexpr auto kFloat64 = at::kDouble;
}}
"""
PYTHON = "#include <torch/csrc/Exceptions.h>\n#include <torch/csrc/utils/pybind.h>\n"
LATEST_S = 240
SYSTEMS = frozenset("m stdc++ pthread dl rt util c gcc gcc_s".split())
WHEELS = sorted(glob.glob(os.path.join(os.path.dirname(torch_extension.__file__), "../../nvidia/*/lib")))


class CompileError(Exception):
    """The compilers' lines."""


def lacking(cuda):
    """What this machine lacks for extensions, in words; empty if nothing."""
    headers = sysconfig.get_path("include")
    if not os.path.exists(os.path.join(headers, "Python.h")):
        return f"there is no Python.h in {headers}: the package python3-dev has that of the system's Python"
    if cuda and not os.path.exists(os.path.join(torch_extension.CUDA_HOME or "", "bin/nvcc")):
        return "there is no nvcc on PATH or in /usr/local/cuda"
    return ""


def light_header(text):
    """Headers for the operators that the text names, or None where it includes more of torch than that."""
    if any(one.startswith("torch/") and one not in OWN_HEADERS for one in INCLUDES.findall(text)):
        return None
    named = sorted(name for name in set(NAMES.findall(text)) if os.path.exists(os.path.join(OPERATORS, name + ".h")))
    return LIGHT.format("\n".join(f"#include <ATen/ops/{name}.h>" for name in named))


def write_light(folder, header):
    """A folder of headers that are found before torch's."""
    light = os.path.join(folder, "light")
    os.makedirs(os.path.join(light, "torch"), exist_ok=True)
    for name in sorted(OWN_HEADERS):
        python = "" if name == "torch/types.h" else "#ifndef __CUDA_ARCH__\n" + PYTHON + "#endif\n"
        with open(os.path.join(light, name), "w") as file:
            file.write("#pragma once\n#include <torch/light.h>\n" + (python if name == "torch/extension.h" else ""))
    with open(os.path.join(light, "torch/light.h"), "w") as file:
        file.write(header)
    return light


class Compiler:
    """Works in one folder."""

    def __init__(self, folder, architecture):
        self.folder, self.architecture = folder, architecture
        self.cuda_home = torch_extension.CUDA_HOME or ""

    def includes(self, cuda):
        paths = torch_extension.include_paths("cuda" if cuda else "cpu") + [sysconfig.get_path("include")]
        return [word for path in paths for word in ("-isystem", path)]

    def run(self, command):
        done = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=LATEST_S, check=False)
        if done.returncode:
            raise CompileError(done.stdout.decode(errors="replace"))

    def command(self, recipe, source, light):
        common = [f"-DTORCH_EXTENSION_NAME={recipe.name}", "-DTORCH_API_INCLUDE_EXTENSION_H", *(["-I" + light] if light else []),
                  *self.includes(any(one.endswith(".cu") for one in recipe.sources))]
        target = source + ".o"
        if not source.endswith(".cu"):
            return ["g++", *common, "-fPIC", "-std=c++17", *recipe.cxx_flags, "-c", source, "-o", target]
        flags = list(recipe.cuda_flags)
        if not any("-std=" in one for one in flags):
            flags.append("-std=c++17")
        code = f"-gencode=arch=compute_{self.architecture},code=sm_{self.architecture}"
        return [os.path.join(self.cuda_home, "bin/nvcc"), *common, *torch_extension.COMMON_NVCC_FLAGS, code, "--compiler-options", "-fPIC",
                *flags, "-c", source, "-o", target]

    def compile_one(self, recipe, source):
        header = light_header(recipe.sources[source])
        if header is not None:
            try:
                light = write_light(os.path.join(self.folder, source + ".d"), header)
                self.run(self.command(recipe, source, light))
                return
            except CompileError:
                pass
        self.run(self.command(recipe, source, None))

    def build(self, recipe):
        """The library's bytes. Errors: CompileError; OSError, where the machine lacks what it takes."""
        if words := lacking(any(one.endswith(".cu") for one in recipe.sources)):
            raise OSError(words)
        for name, text in recipe.sources.items():
            with open(os.path.join(self.folder, name), "w") as file:
                file.write(text)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for one in [pool.submit(self.compile_one, recipe, source) for source in recipe.sources]:
                one.result()
        self.run(self.link(recipe))
        with open(os.path.join(self.folder, "extension.so"), "rb") as file:
            return file.read()

    def link(self, recipe):
        cuda = any(one.endswith(".cu") for one in recipe.sources)
        libraries = ["-L" + torch_extension.TORCH_LIB_PATH, "-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python"]
        if cuda:
            libraries += ["-lc10_cuda", "-ltorch_cuda", "-L" + os.path.join(self.cuda_home, "lib64"), "-lcudart"]
        named = [word for one in recipe.libraries for word in self.library(one)]
        return ["g++", *[one + ".o" for one in recipe.sources], "-shared", *named, *libraries, "-o", "extension.so"]

    def library(self, name):
        """Words for the linker. What lies nowhere is left out: torch has loaded it, or the loader says what is lacking."""
        if name in SYSTEMS:
            return ["-l" + name]
        toolkit = [os.path.join(self.cuda_home, one) for one in ("lib64", "targets/x86_64-linux/lib", "lib64/stubs")]
        for folder in (*toolkit, torch_extension.TORCH_LIB_PATH, *WHEELS):
            for path in sorted(glob.glob(os.path.join(glob.escape(folder), f"lib{name}.so*")), key=len):
                return [path] if folder not in WHEELS else [path, "-Wl,-rpath," + folder]
        return []
