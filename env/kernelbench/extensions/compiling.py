"""Compiles an extension as torch's own builder does: the same flags, for one architecture. What is compiled is told as data: a unit is one
source, {"file", "text", "name", "flags", "cuda"}, and its object depends on nothing else but the compilers and their headers.

Most of what that takes is torch's headers. Sources that use few of its names are compiled first with headers of those names alone, most of
which may be precompiled; where that fails, torch's own are the judges.
"""
import contextlib
import glob
import os
import subprocess
import sysconfig

import light

LATEST_S = 240
LEAD = "#include <torch/extension.h>\n"  # what a unit begins with for which there may be precompiled headers
HEADERS, PRECOMPILED = "headers.h", "headers.h.gch"
SYSTEMS = frozenset("m stdc++ pthread dl rt util c gcc gcc_s".split())
# Programs tell no time but this, so that an object is the same at any time.
ENVIRONMENT = {"SOURCE_DATE_EPOCH": "0"}


class CompileError(Exception):
    """The compilers' lines."""


def find_tools():
    """Where torch's headers and libraries and the compilers are, and their versions: all that objects depend on beside their units."""
    import torch
    import torch.utils.cpp_extension as extension
    folder, cuda = os.path.dirname(torch.__file__), extension.CUDA_HOME or ""
    return {"torch": folder, "cuda": cuda, "python": sysconfig.get_path("include"), "libraries": extension.TORCH_LIB_PATH,
            "includes": extension.include_paths("cpu"), "cuda_includes": extension.include_paths("cuda"),
            "cuda_flags": extension.COMMON_NVCC_FLAGS, "versions": [torch.__version__, version_of("g++"), version_of(os.path.join(cuda, "bin/nvcc"))]}


def version_of(compiler):
    try:
        return subprocess.run([compiler, "--version"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False,
                              timeout=LATEST_S).stdout.decode(errors="replace")
    except OSError:
        return ""


def lacking(tools, cuda):
    """What this machine lacks for extensions, in words; empty if nothing."""
    if not os.path.exists(os.path.join(tools["python"], "Python.h")):
        return f"there is no Python.h in {tools['python']}: the package python3-dev has that of the system's Python"
    if cuda and not os.path.exists(os.path.join(tools["cuda"], "bin/nvcc")):
        return "there is no nvcc on PATH or in /usr/local/cuda"
    return ""


def is_cuda(file):
    return file.endswith(".cu")


def units_of(recipe):
    cuda = any(map(is_cuda, recipe.sources))
    return [{"file": file, "text": text, "name": recipe.name, "flags": recipe.cuda_flags if is_cuda(file) else recipe.cxx_flags, "cuda": cuda}
            for file, text in recipe.sources.items()]


class Compiler:
    """Works in one folder."""

    def __init__(self, folder, tools, architecture, headers=None):
        """`headers`: a folder that precompile() made for the units' flags, or None."""
        self.folder, self.tools, self.architecture, self.headers = folder, tools, architecture, headers

    def run(self, command):
        done = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=LATEST_S, check=False, env={**os.environ, **ENVIRONMENT})
        if done.returncode:
            raise CompileError(done.stdout.decode(errors="replace"))

    def includes(self, cuda):
        return [word for path in (*self.tools["cuda_includes" if cuda else "includes"], self.tools["python"]) for word in ("-isystem", path)]

    def command(self, unit, more=()):
        """`more`: words that say where headers are."""
        name, file, includes = f"-DTORCH_EXTENSION_NAME={unit['name']}", unit["file"], self.includes(unit["cuda"])
        if not is_cuda(file):
            return ["g++", name, "-DTORCH_API_INCLUDE_EXTENSION_H", *more, *includes, "-fPIC", "-std=c++17", *unit["flags"], "-c", file, "-o", file + ".o"]
        standard = [] if any("-std=" in one for one in unit["flags"]) else ["-std=c++17"]
        code = f"-gencode=arch=compute_{self.architecture},code=sm_{self.architecture}"
        return [os.path.join(self.tools["cuda"], "bin/nvcc"), name, "-DTORCH_API_INCLUDE_EXTENSION_H", *more, *includes, *self.tools["cuda_flags"], code,
                "--compiler-options", "-fPIC", *unit["flags"], *standard, "-c", file, "-o", file + ".o"]

    def precompile(self, flags):
        """Two files: headers that sources with these flags begin with, and what g++ takes for them."""
        with open(os.path.join(self.folder, HEADERS), "w") as file:
            file.write(light.BASE + light.PYTHON)
        self.run(["g++", "-DTORCH_API_INCLUDE_EXTENSION_H", *self.includes(False), "-fPIC", "-std=c++17", *flags, "-x", "c++-header", HEADERS, "-o",
                  PRECOMPILED])
        return [os.path.join(self.folder, one) for one in (HEADERS, PRECOMPILED)]

    def compile(self, unit):
        """The object's file. Errors: CompileError; OSError, where the machine lacks what it takes."""
        file, text, cuda = unit["file"], unit["text"], is_cuda(unit["file"])
        if words := lacking(self.tools, cuda):
            raise OSError(words)
        with open(os.path.join(self.folder, file), "w") as source:
            source.write(text)
        include = os.path.join(self.tools["torch"], "include")
        operators = light.operators_of(text, include)
        if operators is not None:
            words = ["-I" + light.write_light(os.path.join(self.folder, file + ".d"), operators, text, include, trims=cuda)]
            if self.headers and not cuda and text.startswith(LEAD):
                words += ["-include", os.path.join(self.headers, HEADERS)]
            with contextlib.suppress(CompileError):
                self.run(self.command(unit, words))
                return os.path.join(self.folder, file + ".o")
        self.run(self.command(unit))
        return os.path.join(self.folder, file + ".o")

    def link(self, objects, libraries, cuda):
        """The extension's file, of objects that lie in the folder. Errors: CompileError."""
        words = ["-L" + self.tools["libraries"], "-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python"]
        if cuda:
            words += ["-lc10_cuda", "-ltorch_cuda", "-L" + os.path.join(self.tools["cuda"], "lib64"), "-lcudart"]
        named = [word for one in libraries for word in self.library(one)]
        self.run(["g++", *objects, "-shared", *named, *words, "-o", "extension.so"])
        return os.path.join(self.folder, "extension.so")

    def library(self, name):
        """Words for the linker. What lies nowhere is left out: torch has loaded it, or the loader says what is lacking."""
        if name in SYSTEMS:
            return ["-l" + name]
        wheels = sorted(glob.glob(os.path.join(glob.escape(self.tools["torch"]), "../nvidia/*/lib")))
        toolkit = [os.path.join(self.tools["cuda"], one) for one in ("lib64", "targets/x86_64-linux/lib", "lib64/stubs")]
        for folder in (*toolkit, self.tools["libraries"], *wheels):
            for path in sorted(glob.glob(os.path.join(glob.escape(folder), f"lib{name}.so*")), key=len):
                return [path] if folder not in wheels else [path, "-Wl,-rpath," + folder]
        return []

    def build(self, recipe):
        """The library's bytes, made at once in one process. Errors: as compile()."""
        units = units_of(recipe)
        for unit in units:
            self.compile(unit)
        with open(self.link([one["file"] + ".o" for one in units], recipe.libraries, units[0]["cuda"]), "rb") as file:
            return file.read()
