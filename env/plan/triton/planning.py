"""A candidate's file, run for each shape of a task until its plans are known. Everything here belongs to one process and one candidate."""
import ast
import contextlib
import importlib.util
import inspect
import os
import sys
import tempfile
import time
import warnings

import torch
import triton.compiler.compiler
from torch._subclasses.fake_tensor import FakeTensorMode
from triton.compiler.errors import CompilationError
from triton.errors import TritonError
from triton.runtime.errors import OutOfResources, PTXASError

import device
import driver
import tuning
from imports import check_imports
from memory import INPUT
from operators import Operators, dense_bytes
from refusal import Refusal, of_compiler, of_python, own_line, line_of, one_line, plan_refusal, policy_refusal
from steps import Plan, Run

MODULE = "candidate"
COMPILE = triton.compiler.compiler.compile
BASES = (0x2000_0000_0000, 0x4000_0000_0000)  # of the two runs of a shape
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "i32": torch.int32}
SHORT_DTYPES = {dtype: name for name, dtype in DTYPES.items()}


class Recorder:
    """What all parts share: the target, the run that is going on, and how long the compiler took."""

    def __init__(self, target, phase=lambda compiling: None):
        self.target, self.phase = target, phase
        self.run = Run(BASES[0])  # what a file does while it is imported is no part of a plan
        self.compile_s = 0.0


class CompileFailure(BaseException):
    """What the compiler raised, whether or not the candidate would catch it, and what it printed."""

    def __init__(self, error, printed):
        super().__init__(str(error))
        self.error, self.printed = error, printed


@contextlib.contextmanager
def standard_error(path):
    """What is written to standard error meanwhile, by C++ too, goes to the file instead."""
    sys.stderr.flush()
    saved, file = os.dup(2), os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    os.dup2(file, 2)
    os.close(file)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(saved, 2)
        os.close(saved)


def errors_in(path):
    """The compiler's own errors in what it printed: of MLIR's, those that say what is wrong."""
    with open(path, errors="replace") as file:
        lines = [line.strip() for line in file.read(1 << 20).splitlines()]
    said = [line[line.index("error: "):] for line in lines if "error: " in line and "MLIR pass pipeline" not in line]
    return "; ".join(dict.fromkeys(said))


def check_sources(source, options):
    """A kernel is what stands in the candidate's file, and what Triton adds."""
    if isinstance(source, str):
        raise policy_refusal("foreign_code", "launch compiles a file of IR or assembly; write @triton.jit functions")
    if options.get("ir_override"):
        raise policy_refusal("foreign_code", "ir_override replaces what the kernel says; write it in Triton")
    if set(dict(options.get("extern_libs") or ())) - {"libdevice"}:
        raise policy_refusal("foreign_code", "extern_libs names a library of the candidate's own; only libdevice is there")


def timed_compile(recorder):
    """Triton's compile, with its time, and its errors told apart from those of the candidate's Python."""

    def compile_and_note(source, *args, **kwargs):
        check_sources(source, kwargs.get("options") or {})
        begin = time.monotonic()
        recorder.phase(True)
        printed = os.path.join(tempfile.gettempdir(), "errors")
        try:
            with standard_error(printed):
                return COMPILE(source, *args, **kwargs)
        except (OutOfResources, PTXASError, CompilationError):
            raise
        except Exception as error:
            raise CompileFailure(error, errors_in(printed)) from error
        finally:
            recorder.compile_s += time.monotonic() - begin
            recorder.phase(False)

    return compile_and_note


def install(recorder):
    """Puts the recorder in the place of GPU and driver."""
    device.stub_torch(recorder.target, lambda: recorder.run.memory)
    found = driver.install(recorder)
    tuning.install(recorder)
    triton.compiler.compiler.compile = triton.compiler.compile = triton.compile = timed_compile(recorder)
    return found


def load(source, path, entry):
    """The function `entry` of the candidate's file."""
    with open(path, "w") as file:
        file.write(source)
    try:
        tree = ast.parse(source, path)
    except (SyntaxError, ValueError) as error:
        raise Refusal("FAIL_PARSE", "syntax", of_python(error, path)) from None
    check_imports(tree, path)
    spec = importlib.util.spec_from_file_location(MODULE, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    spec.loader.exec_module(module)
    launch = getattr(module, entry, None)
    if not callable(launch):
        raise Refusal("FAIL_PARSE", "no_entry_point", f"the function asked for, {entry}, is not defined")
    return launch


def make_inputs(run, shape):
    tensors = []
    for index, spec in enumerate(shape["inputs"]):
        tensor = torch.empty(spec["sizes"], dtype=DTYPES[spec["type"]], device="cuda")
        buffer = run.memory.buffers[run.memory.pointer(tensor).buffer]
        buffer.role, buffer.index, buffer.name = INPUT, index, spec["name"]
        tensors.append(tensor)
    return tensors


def check_call(launch, arguments, names):
    try:
        inspect.signature(launch).bind(*arguments)
    except TypeError as error:
        raise plan_refusal("parameters", f"launch is called as launch({', '.join(names)}): {error}") from None
    except ValueError:
        pass  # it tells no signature


def check_output(tensor, spec):
    name, dtype = spec["name"], DTYPES[spec["type"]]
    if not isinstance(tensor, torch.Tensor):
        raise plan_refusal("output", f"launch returns a {type(tensor).__name__} for {name}; return a tensor")
    if tensor.device.type != "cuda":
        raise plan_refusal("output", f"launch returns {name} on the host; make it with device=x.device")
    if tensor.dtype != dtype:
        raise plan_refusal("output_type", f"launch returns {name} as {tensor.dtype}; it must be {dtype}")
    if list(tensor.shape) != spec["sizes"]:
        raise plan_refusal("output_shape", f"launch returns {name} with sizes {list(tensor.shape)}; they must be {spec['sizes']}")
    if not tensor.is_contiguous():
        raise plan_refusal("output_strides", f"launch returns {name} with strides {list(tensor.stride())}; it must be contiguous")


def take_outputs(run, returned, shape, operators):
    """Which buffers are outputs. What is no buffer of its own is copied into one at the end."""
    specs = shape["outputs"]
    tensors = list(returned) if isinstance(returned, (tuple, list)) else [returned]
    if len(tensors) != len(specs):
        raise plan_refusal("output", f"launch returns {len(tensors)} values; return {', '.join(spec['name'] for spec in specs)}")
    outputs, copies = {}, []
    for index, (tensor, spec) in enumerate(zip(tensors, specs)):
        check_output(tensor, spec)
        pointer = run.memory.pointer(tensor)
        buffer = run.memory.buffers[pointer.buffer]
        if buffer.role != INPUT and pointer.buffer not in outputs and buffer.bytes == dense_bytes(tensor):
            outputs[pointer.buffer] = index
        else:
            copies.append((index, tensor))
    for index, tensor in copies:
        copy = torch.empty_like(tensor)
        outputs[run.memory.pointer(copy).buffer] = index
        operators.add_copy(run.memory.pointer(copy), run.memory.pointer(tensor), dense_bytes(tensor))
    return outputs


class Candidate:
    def __init__(self, request, path, phase=lambda compiling: None):
        self.request, self.path = request, path
        self.recorder = Recorder(request["target"], phase)
        self.operators = Operators(self.recorder)
        self.cubins = {}  # digest → index

    def plan_of(self, launch, shape, base):
        run = self.recorder.run = Run(base)
        arguments = make_inputs(run, shape) + [one["value"] for one in shape["dims"]]
        check_call(launch, arguments, [one["name"] for one in shape["inputs"] + shape["dims"]])
        outputs = take_outputs(run, launch(*arguments), shape, self.operators)
        if Refusal.first:
            raise Refusal.first
        return Plan(run, outputs, self.cubins).wire()

    def plans(self):
        """A plan for each shape. Errors: Refusal, or what the candidate's code or the compiler raised."""
        self.driver = install(self.recorder)
        with FakeTensorMode(), torch.no_grad(), self.operators:
            launch = load(self.request["source"], self.path, self.request["entry"])
            if Refusal.first:
                raise Refusal.first
            plans = []
            for shape in self.request["shapes"]:
                one, other = (self.plan_of(launch, shape, base) for base in BASES)
                if one != other:
                    raise plan_refusal("two_runs", difference(one, other))
                plans.append(one)
        return plans

    def binaries(self):
        return [self.driver.binaries[digest][0] for digest in self.cubins]


def difference(one, other):
    """How two plans of one shape differ."""
    advice = "two calls of launch at the same sizes differ"
    for a, b in zip(one["steps"], other["steps"]):
        if a != b and "launch" in a and "launch" in b:
            name = one["kernels"][a["launch"]["kernel"]]["name"]
            fields = [field for field in a["launch"] if a["launch"][field] != b["launch"].get(field)]
            return f"{advice} in the {fields[0]} of {name}; use no addresses as numbers, and nothing that an earlier call left"
    return f"{advice} in what they do; do the same in every call"


def failure(kind, reason, message, details=""):
    return {"status": "failed", "kind": kind, "reason": reason, "message": message, "details": details}


def of_error(error, path):
    """The reply for what ended a candidate."""
    if isinstance(error, CompileFailure):
        return failure("FAIL_COMPILE", "compiler", *of_compiler(error.error, path, error.printed))
    if isinstance(error, Refusal):
        number = own_line(error, path)
        where = f" ({line_of(path, number)})" if number else ""
        return failure(error.kind, error.reason, one_line(error.message) + where, error.details)
    for kind, reason in ((OutOfResources, "resources"), (PTXASError, "ptxas"), (TritonError, "compiler")):
        if isinstance(error, kind):
            return failure("FAIL_COMPILE", reason, *of_compiler(error, path))
    return failure("FAIL_PLAN", "exception", of_python(error, path))


def plan_candidate(request, folder, phase=lambda compiling: None):
    """(reply, cubins): see the format in zygote.py. The candidate's file and the compiler's lie in `folder`."""
    path = os.path.join(folder, MODULE + ".py")
    Refusal.first = None
    begin = time.monotonic()
    candidate, cubins = Candidate(request, path, phase), []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plans = candidate.plans()
        cubins = candidate.binaries()
        reply = {"status": "ok", "cubins": len(cubins), "plans": plans}
    except BaseException as error:  # SystemExit and KeyboardInterrupt are a candidate's doing too
        reply = of_error(Refusal.first or error, path)
    spent, compiling = time.monotonic() - begin, candidate.recorder.compile_s
    reply["compile_ms"], reply["plan_ms"] = round(compiling * 1e3, 3), round((spent - compiling) * 1e3, 3)
    return reply, cubins
