"""A problem in KernelBench's format: Python with Model, get_inputs and get_init_inputs. It is run as KernelBench runs it: the same seeds,
the same casts, the same order of draws."""
import types

import torch

from refusal import show_lines

SEED = 42
PRECISIONS = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
NEEDED = ("Model", "get_inputs", "get_init_inputs")
FILE = "problem.py"


class ProblemError(Exception):
    """Why a problem cannot be judged: a reason of one word, and one line."""

    def __init__(self, reason, message):
        super().__init__(message)
        self.reason = reason


def set_seed(seed):
    """The generators of the host and, where there is one, of the device."""
    torch.manual_seed(seed)


def run_source(source, path, module):
    """Runs it in the module."""
    show_lines(source, path)
    exec(compile(source, path, "exec"), module.__dict__)


def words_of(error):
    """Type and text of an error in one line."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return (text if len(text) <= 300 else text[:299] + "…").rstrip(": ")


def out_of_memory(error):
    words = ("not enough memory", "out of memory", "can't allocate memory", "CUDNN_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_ALLOC_FAILED")
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or any(one in str(error) for one in words)


def failed(what, error):
    """The problem's error as one of ours."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, ImportError):
        return ProblemError("missing_package", f"{what} needs a package that is not there: {words_of(error)}")
    if out_of_memory(error):
        return ProblemError("does_not_fit", f"{what} does not fit into memory: {words_of(error)}")
    return ProblemError("reference_fails", f"{what} fails: {words_of(error)}")


class Problem:
    """The problem's names. Nothing is built yet. Errors: ProblemError."""

    def __init__(self, source, precision, device):
        self.source, self.device, self.dtype = source, device, PRECISIONS[precision]
        self.module = types.ModuleType("problem")
        try:
            run_source(source, FILE, self.module)
        except Exception as error:
            raise failed("the problem's file", error) from None
        missing = [name for name in NEEDED if not callable(getattr(self.module, name, None))]
        if missing:
            raise ProblemError("no_model", f"the problem has no {', '.join(missing)}")

    def cast(self, value, integers=True):
        """As KernelBench: every tensor to the precision and the device, integers and masks too unless told not to."""
        if not isinstance(value, torch.Tensor):
            return value
        if not integers and not value.dtype.is_floating_point:
            return value.to(self.device)
        return value.to(device=self.device, dtype=self.dtype)

    def init_inputs(self):
        set_seed(SEED)
        return [self.cast(one) for one in self.module.get_init_inputs()]

    def build(self, model, arguments, seed=SEED):
        """A module of that class on the device and in the precision."""
        with torch.no_grad():
            set_seed(seed)
            return model(*arguments).to(device=self.device, dtype=self.dtype)
