"""CUDA candidates compiled for a core by tests/cuda_on_cpu, beside the small problem's reference: cuda_on_cpu_test.py [CANDIDATE.py…]

Says of a candidate that its kernels' arithmetic is right, without a GPU. All are one extension, since torch's headers take the time.

Compiling takes minutes: without arguments it does nothing unless TEMPER_EVERY_CANDIDATE is set.

exit 77: that, or torch, triton or g++ is not there (ctest counts that as skipped)
"""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import types

import interpreted_test  # exits with 77 where torch or triton is missing
import torch
import torch.utils.cpp_extension
from headers import HERE, load_file

MODULE = "candidates_on_cpu"
LAUNCH = re.compile(r"(\w+)<<<(.*?)>>>\s*\((.*?)\);", re.S)


def sources_of(path):
    """What a candidate gives to load_inline: (CUDA source, functions) of each call."""
    given = []

    def record(name, cpp_sources, cuda_sources, functions, **flags):
        given.append((cuda_sources, functions))
        return types.SimpleNamespace()

    torch.utils.cpp_extension.load_inline = record
    load_file(path)
    return given


def name_of(path, number):
    return re.sub(r"\W", "_", f"{path.parent.name}_{path.stem}_{number}")


def for_cpu(source):
    """Launches become calls; what is included is there already."""
    source = "\n".join("" if line.startswith("#include") else line for line in source.splitlines())
    source = source.replace("c10::cuda::getCurrentCUDAStream()", "nullptr")
    return LAUNCH.sub(lambda found: f"cuda_on_cpu::Launch({found[2]}).run([&] {{ {found[1]}({found[3]}); }});", source)


HEAD = """#include <torch/extension.h>
#include "tests/cuda_on_cpu/device.h"

#define C10_CUDA_KERNEL_LAUNCH_CHECK()
using std::max, std::min;
struct float2 { float x, y; };
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
"""
ORDERS = (0, 1, 2)  # in which a block's threads run


def unit(paths):
    """One source file of all."""
    parts, bindings = [HEAD], ["  m.def(\"run_threads_in_order\", [](int order) { thread_order = order; });\n"]
    for path in paths:
        for number, (source, functions) in enumerate(sources_of(path)):
            space = name_of(path, number)
            parts.append(f'namespace {space} {{\n#line 1 "{path.parent.name}/{path.name}"\n{for_cpu(source)}\n}}\n')
            bindings += [f'  m.def("{space}_{one}", &{space}::{one});\n' for one in functions]
    return "\n".join(parts) + f"\nPYBIND11_MODULE({MODULE}, m) {{\n{''.join(bindings)}}}\n"


def compiled(text, folder):
    source, library, torch_folder = folder / "unit.cc", folder / f"{MODULE}.so", pathlib.Path(torch.__file__).parent
    source.write_text(text)
    includes = [HERE.parents[2], torch_folder / "include", torch_folder / "include/torch/csrc/api/include", sysconfig.get_paths()["include"]]
    subprocess.run(["g++", "-shared", "-fPIC", "-O1", "-std=c++17", "-w", f"-DTORCH_EXTENSION_NAME={MODULE}", source, "-o", library,
                    *(word for one in includes for word in ("-isystem", one)), f"-L{torch_folder / 'lib'}", "-ltorch", "-ltorch_cpu", "-lc10",
                    "-ltorch_python"], check=True)
    spec = importlib.util.spec_from_file_location(MODULE, library)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check(path, module):
    """"" or what is wrong."""
    count = iter(range(100))

    def take(name, cpp_sources, cuda_sources, functions, **flags):
        space = name_of(path, next(count))
        return types.SimpleNamespace(**{one: getattr(module, f"{space}_{one}") for one in functions})

    torch.utils.cpp_extension.load_inline = take
    return interpreted_test.check(path)


def main():
    if not shutil.which("g++") or not sys.argv[1:] and "TEMPER_EVERY_CANDIDATE" not in os.environ:
        print("skipped: " + ("TEMPER_EVERY_CANDIDATE is not set" if shutil.which("g++") else "no g++"))
        sys.exit(77)
    paths, wrong = [pathlib.Path(name) for name in sys.argv[1:]] or sorted((HERE / "candidates").glob("*/cuda.py")), 0
    with tempfile.TemporaryDirectory() as folder:
        module = compiled(unit(paths), pathlib.Path(folder))
        for path in paths:
            problem = ""
            for order in ORDERS:
                module.run_threads_in_order(order)
                problem = problem or check(path, module)
            wrong += bool(problem)
            print(f"{path.parent.name}: {problem or 'right'}", flush=True)
    sys.exit(bool(wrong) or not paths)


if __name__ == "__main__":
    main()
