"""Headers of those names of torch's that a source uses, in place of all."""
import os
import re

NAMES = re.compile(r"\b(?:torch|at)::(\w+)")
INCLUDES = re.compile(r'#\s*include\s*[<"]([^>"]+)')
PYTHONS_NAMES = re.compile(r"\b(py|pybind11|PYBIND11_\w+|TORCH_EXTENSION_NAME|Py[A-Z_]\w*|THP\w*|wrap_pybind_function)\b")
OWN_HEADERS = {"torch/extension.h", "torch/types.h", "torch/torch.h", "torch/all.h", "torch/python.h"}
# What headers of operators include and the functions in them do not use. It is half of what the compilers of CUDA read.
IDLE = re.compile(r"#include <ATen/(Context|DeviceGuard|TensorUtils|TracerMode|core/Generator|core/Reduction)\.h>\n")
# What does not depend on the source, and may have been read before (compiling.py).
BASE = """#ifndef TEMPER_LIGHT
#define TEMPER_LIGHT
#include <ATen/core/Tensor.h>
#include <ATen/Dispatch.h>
#include <ATen/TensorUtils.h>
#include <c10/util/Exception.h>
#include <optional>
namespace torch {
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
}
#endif
"""
PYTHON = "#ifndef __CUDA_ARCH__\n#include <torch/csrc/Exceptions.h>\n#include <torch/csrc/utils/pybind.h>\n#endif\n"


def operators_of(text, include):
    """Those that the text names, or None where it includes more of torch than that. `include`: torch's own folder."""
    if any(one.startswith("torch/") and one not in OWN_HEADERS for one in INCLUDES.findall(text)):
        return None
    return sorted(name for name in set(NAMES.findall(text)) if os.path.exists(os.path.join(include, "ATen/ops", name + ".h")))


def trimmed(header):
    """An operator's header without what its functions do not use."""
    return header if "Generator" in IDLE.sub("", header) else IDLE.sub("", header)


def write_light(folder, operators, text, include, trims):
    """A folder of headers that are found before torch's. Those of Python are left out where the text names nothing of them. `trims`: whether
    no others are read before, of which an operator's own header may be one."""
    light = os.path.join(folder, "light")
    python = PYTHON if PYTHONS_NAMES.search(text) else ""
    files = {name: "#pragma once\n#include <torch/light.h>\n" + (python if name == "torch/extension.h" else "") for name in sorted(OWN_HEADERS)}
    files["torch/light.h"] = "#pragma once\n" + BASE + "".join(f"#include <ATen/ops/{name}.h>\n" for name in operators)
    for name in operators if trims else ():
        with open(os.path.join(include, "ATen/ops", name + ".h")) as file:
            files[f"ATen/ops/{name}.h"] = trimmed(file.read())
    for name, content in files.items():
        path = os.path.join(light, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(content)
    return light
