"""Candidates of traces under Triton's interpreter, on the CPU and with values: triton_interpreted.py FILE

FILE is JSON: [{"task": a task as env/task/task_json.h has it, "sources": [text, …]}, …]. For each source one line is printed: "right", or what
is wrong. Beyond what the interpreter does itself, a place outside of the tensors is an error, what a load has no value for is none, products
are as precise as on a GPU, and the launcher may compute nothing in torch.

exit 77: torch, triton or numpy is not there
"""
import json
import os
import signal
import sys
import tempfile

os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported

import importlib.util  # noqa: E402

try:
    import numpy
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from triton import language as tl
    from triton.runtime import interpreter
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

DTYPES = [torch.float32, torch.int32, torch.bfloat16, torch.float16]  # as ElementType counts them
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 2e-2, torch.float16: 4e-3}
NORMAL, UNIFORM = 0, 1
SIZES = ((5, 1100), (37, 19))  # of a task's dimensions, in their order; a row longer than 1,024 among them
SIZES_OF_PRODUCTS = ((5, 70, 40), (37, 19, 67))
PLANNED = ("empty", "zeros", "new_empty", "new_zeros", "empty_like", "zeros_like", "zero_", "fill_", "detach", "empty_strided")
SECONDS = 60


class Wrong(Exception):
    pass


class Extents:
    """The memory that kernels may use: of the tensors of the launch that goes on."""

    now = []

    @classmethod
    def check(cls, pointers, mask):
        places = pointers.data[mask.data.astype(bool)] if pointers.data.shape else pointers.data.reshape(1)
        inside = numpy.zeros(places.shape, dtype=bool)
        for begin, end in cls.now:
            inside |= (places >= begin) & (places < end)
        if not inside.all():
            raise Wrong("out of bounds")


class Launcher(TorchDispatchMode):
    """What torch is asked for while no kernel runs."""

    in_kernel = False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = function.__name__.split(".")[0]
        if not Launcher.in_kernel:
            if name not in PLANNED:
                raise Wrong(f"torch computes {name}")
        return function(*args, **kwargs)


def poisoned(make):
    def filled(*args, **kwargs):
        tensor = make(*args, **kwargs)
        return tensor.fill_(float("nan")) if tensor.is_floating_point() and not Launcher.in_kernel else tensor
    return filled


def with_device(make):
    def checked(*args, **kwargs):
        if not Launcher.in_kernel and "device" not in kwargs:
            raise Wrong("a tensor on the host")
        return make(*args, **kwargs)
    return checked


def with_extents(call):
    def launch(self, *args, **kwargs):
        tensors = [one for one in [*args, *kwargs.values()] if isinstance(one, torch.Tensor)]
        Extents.now = [(one.data_ptr(), one.data_ptr() + one.nbytes) for one in tensors]
        Launcher.in_kernel = True
        try:
            return call(self, *args, **kwargs)
        finally:
            Launcher.in_kernel = False
    return launch


def nothing_of(dtype):
    """What stands where a load has no value."""
    if dtype == numpy.uint16:  # bf16
        return 0x7FC0
    return numpy.nan if numpy.issubdtype(dtype, numpy.floating) else numpy.iinfo(dtype).max // 2


def as_float(handle, precision):
    data = handle.data
    if handle.dtype.scalar == tl.bfloat16:
        return (data.astype(numpy.uint32) << 16).view(numpy.float32)
    if handle.dtype.scalar == tl.float32 and "TF32" in str(precision) and "x3" not in str(precision).lower():
        return (data.view(numpy.uint32) & 0xFFFFE000).view(numpy.float32)
    return data


def prepare():
    torch.empty, torch.zeros = with_device(poisoned(torch.empty)), with_device(torch.zeros)
    torch.empty_like = poisoned(torch.empty_like)
    builder = interpreter.InterpreterBuilder
    load, store = builder.create_masked_load, builder.create_masked_store

    def checked_load(self, pointers, mask, other, *rest):
        Extents.check(pointers, mask)
        if other is None:
            kind = interpreter._get_np_dtype(pointers.get_element_ty())
            other = interpreter.TensorHandle(numpy.full_like(pointers.data, nothing_of(kind), dtype=kind), pointers.get_element_ty())
        return load(self, pointers, mask, other, *rest)

    def checked_store(self, pointers, value, mask, *rest):
        Extents.check(pointers, mask)
        return store(self, pointers, value, mask, *rest)

    def dot(self, a, b, d, precision, imprecise):
        product = numpy.matmul(as_float(a, precision), as_float(b, precision), dtype=d.data.dtype)
        return interpreter.TensorHandle(product + d.data, d.dtype.scalar)

    builder.create_masked_load, builder.create_masked_store, builder.create_dot = checked_load, checked_store, dot
    interpreter.GridExecutor.__call__ = with_extents(interpreter.GridExecutor.__call__)
    patch_tensor = interpreter._patch_lang_tensor

    def with_new_numpy(tensor, scope):  # which makes no number of an array of one element
        patch_tensor(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: self.handle.data.item())

    interpreter._patch_lang_tensor = with_new_numpy


def draw(spec, sizes, magnitude):
    shape, dtype = [sizes[one] if one in sizes else int(one) for one in spec["shape"]], DTYPES[spec["type"]]
    if dtype == torch.int32:
        bound = spec["index_bound"]
        return torch.randint(0, sizes[bound] if bound in sizes else int(float(bound)), shape, dtype=dtype)
    if spec["distribution"] == UNIFORM:
        return (torch.rand(shape) * (spec["high"] - spec["low"]) + spec["low"]).to(dtype)
    scale = eval(spec["scale"], {"sqrt": lambda value: value ** 0.5}, dict(sizes)) if spec["scale"] else 1
    values = torch.randn(shape) * scale * (magnitude if spec["scaled"] else 1)
    if spec["nonfinite"]:
        values[torch.rand(shape) < 0.02] = float("nan")
    return values.to(dtype)


def reference_of(task):
    text = task["reference"].strip()
    scope = {"torch": torch}
    if text.startswith("def "):
        exec(text, scope)
        return scope["reference"]
    names = [one["name"] for one in task["inputs"]]
    return lambda *inputs: eval(text, scope, dict(zip(names, inputs)))


def sizes_of(task):
    square = any(len(one["shape"]) > len(set(one["shape"])) for one in task["inputs"])
    return SIZES_OF_PRODUCTS if square or len(task["dims"]) > 2 else SIZES


class Call:
    """Inputs and the right output, in f64, at some sizes."""

    def __init__(self, task, sizes, magnitude):
        self.sizes = dict(zip(task["dims"], sizes))
        torch.manual_seed(7)
        self.inputs = [draw(one, self.sizes, magnitude) for one in task["inputs"]]
        exact = [one.double() if one.is_floating_point() else one for one in self.inputs]
        self.right = reference_of(task)(*exact)
        own = reference_of(task)(*[one.float() if one.is_floating_point() else one for one in self.inputs])
        self.own_error = (own.double() - self.right).nan_to_num(0, 0, 0).abs().max()  # of PyTorch in f32
        self.dtype = DTYPES[task["outputs"][0]["type"]]

    def check(self, launch):
        with Launcher():
            ours = launch(*self.inputs, *self.sizes.values())
        if not isinstance(ours, torch.Tensor):
            raise Wrong("no output")
        if ours.dtype != self.dtype or ours.shape != self.right.shape:
            raise Wrong(f"an output of {ours.dtype} {list(ours.shape)}")
        ours, right = ours.double(), self.right
        if not torch.equal(ours.isnan(), right.isnan()):
            raise Wrong("NaN")
        limit = TOLERANCE[self.dtype] * (right.abs() + right.nan_to_num().abs().mean() / 4) + 4 * self.own_error
        off = ((ours - right).abs() > limit) & ~(ours == right) & ~right.isnan()
        if off.any():
            raise Wrong(f"{off.sum().item()} of {off.numel()} elements at {self.sizes}")


def load_launch(source):
    path = os.path.join(tempfile.mkdtemp(), "candidate.py")
    with open(path, "w") as file:
        file.write(source)
    spec = importlib.util.spec_from_file_location("candidate", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.launch


def verdict(source, calls):
    try:
        launch = load_launch(source)
        for call in calls:
            call.check(launch)
        return "right"
    except BaseException as error:
        cause = error.__cause__ or error
        return " ".join(f"{type(cause).__name__}: {cause}".split())[:300]


# What is prepared once takes longer than a candidate.
WARM_TASK = {"reference": "x + 1", "dims": ["n"], "outputs": [{"type": 0}],
             "inputs": [{"name": "x", "shape": ["n"], "type": 0, "distribution": NORMAL, "scaled": True, "scale": "", "nonfinite": False}]}
WARM = """
import torch
import triton
import triton.language as tl

@triton.jit
def first(x, y, BLOCK: tl.constexpr):
    k = tl.arange(0, BLOCK)
    s = tl.sum(tl.cumsum(tl.load(x + k), axis=0), axis=0) + tl.max(tl.load(x + k), axis=0)
    tl.store(y + k, tl.load(x + k) + tl.where(s > 0, 1, 1))

def launch(x, n):
    y = torch.empty_like(x)
    first[(1,)](x, y, BLOCK=16)
    return y
"""


def in_process(source, calls):
    """In a process of its own, as a candidate may do whatever it likes to memory."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(SECONDS)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.write(writer, verdict(source, calls).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        said = file.read()
    os.waitpid(pid, 0)
    return said or "ended"


def main():
    prepare()
    torch.set_num_threads(1)
    warm = verdict(WARM, [Call(WARM_TASK, (16,), 1)])
    if warm != "right":
        sys.exit(f"a sum: {warm}")
    for entry in json.load(open(sys.argv[1])):
        task = entry["task"]
        calls = [Call(task, sizes, magnitude) for sizes, magnitude in zip(sizes_of(task), (1, 4))]
        for source in entry["sources"]:
            print(in_process(source, calls), flush=True)


if __name__ == "__main__":
    main()
