"""Candidates under Triton's interpreter, on the CPU and with values, beside the task's reference: interpreted_test.py [NAME…]

Says of a candidate that its file is right, without a GPU. What the interpreter cannot run says so in its first comments.

exit 77: torch, triton, numpy or PyYAML is not there (ctest counts that as skipped)
"""
import contextlib
import os
import sys

os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported

import importlib.util  # noqa: E402

try:
    import numpy  # noqa: F401
    import torch
    import yaml  # noqa: F401
    from triton.runtime import interpreter
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.errors import InterpreterError
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

from tasks import CANDIDATES, all_tasks, headers, shape_request  # noqa: E402

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "i32": torch.int32}
LOOSE = {torch.float32: 2e-3, torch.bfloat16: 3e-2, torch.float16: 5e-3, torch.int32: 0}
SHAPES = 2  # of each task, the smallest: the interpreter takes one program after the other


def first_configuration(tuner, *args, **kwargs):
    tuner.nargs = dict(zip(tuner.arg_names, args))
    config = tuner.prune_configs(kwargs)[0]
    if config.pre_hook:
        config.pre_hook({**tuner.nargs, **kwargs, **config.all_kwargs()})
    return tuner.fn.run(*args, **kwargs, **config.all_kwargs())


def draw(name, spec, sizes):
    """An input as the task asks for it, in its simplest form."""
    spec = spec if isinstance(spec, dict) else {"shape": spec}
    shape, dtype = [sizes.get(size, size) for size in spec["shape"]], DTYPES[spec.get("type", "f32")]
    if dtype == torch.int32:
        below = spec.get("below")
        return torch.randint(0, sizes.get(below, below), shape, dtype=dtype)
    if "uniform" in spec:
        low, high = spec["uniform"]
        return (torch.rand(shape) * (high - low) + low).to(dtype)
    values = torch.randn(shape)
    if spec.get("nonfinite"):
        values[torch.rand(shape) < 0.02] = float("nan")
    scale = spec.get("scale", 1)
    if isinstance(scale, str):
        scale = eval(scale, {"sqrt": lambda value: value ** 0.5}, dict(sizes))
    return (values * scale).to(dtype)


def reference_of(task):
    text = task["reference"].strip()
    scope = {"torch": torch}
    if text.startswith("def "):
        exec(text, scope)
        return scope["reference"]
    return lambda *inputs: eval(text, scope, dict(zip(task["inputs"], inputs)))


def difference(ours, right):
    """The largest error in units of the output's scale."""
    ours, right = ours.double(), right.double()
    if not torch.equal(ours.isnan(), right.isnan()):
        return float("inf")
    scale = right[right.isfinite()].abs().max().clamp(min=1e-30) if right.isfinite().any() else 1.0
    return ((ours - right).nan_to_num(0, 0, 0).abs().max() / scale).item()


def elements(task, sizes):
    shape = shape_request(task, sizes)
    return sum(torch.Size(one["sizes"]).numel() for one in shape["inputs"] + shape["outputs"])


def check(path, tasks):
    """"" or what is wrong."""
    task = tasks[headers(path.read_text())["task"]]
    spec = importlib.util.spec_from_file_location("candidate", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for sizes in sorted(task["check"], key=lambda sizes: elements(task, sizes))[:SHAPES]:
        shape = shape_request(task, sizes)
        torch.manual_seed(7)
        inputs = [draw(name, spec, sizes) for name, spec in task["inputs"].items()]
        right = reference_of(task)(*[one.clone() for one in inputs])
        given = module.launch(*inputs, *[one["value"] for one in shape["dims"]])
        for name, ours, theirs in zip(task["outputs"], listed(given), listed(right), strict=True):
            error = difference(ours, theirs.reshape(ours.shape))
            if not error <= LOOSE[ours.dtype]:
                return f"{name} is off by {error:g} at {sizes}"
    return ""


def listed(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def interpretable(text):
    said = headers(text)
    return "task" in said and "interpreted" not in said and said["expected"] == "plan"


def prepare():
    Autotuner.run = first_configuration
    patch_tensor = interpreter._patch_lang_tensor

    def with_new_numpy(tensor, scope):  # which makes no number of an array of one element
        patch_tensor(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: self.handle.data.item())

    interpreter._patch_lang_tensor = with_new_numpy
    torch.Tensor.is_cuda = True  # a candidate may well ask
    torch.cuda.device = lambda device: contextlib.nullcontext()


def main():
    prepare()
    tasks, wrong = all_tasks(), 0
    paths = [CANDIDATES / f"{name}.py" for name in sys.argv[1:]] or sorted(CANDIDATES.glob("*.py"))
    for path in paths:
        if interpretable(path.read_text()):
            try:
                problem = check(path, tasks)
            except InterpreterError as error:
                problem = str(error)
            wrong += bool(problem)
            print(f"{path.stem}: {problem or 'right'}", flush=True)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
