"""A candidate: Python with a class ModelNew, imported, built, and given weights by name."""
import ast
import contextlib
import os
import sys
import traceback
import types

import torch

import extension
import weights as weighing
from imports import ImportGuard, check_module
from problem import SEED, Problem, run_source, set_seed, words_of
from refusal import MAX_DETAILS, MAX_READ, Refusal, of_compiler, of_python, one_line, policy_refusal, shortened, show_lines, without_paths

MODULE, ENTRY = "candidate", "ModelNew"
KERNELBENCH_CHARACTERS = 200  # of an error's text, in its result files


class Failed(Exception):
    """What goes to the broker instead of a result."""

    def __init__(self, stage, error, message, traceback_="", compiler=False):
        super().__init__(message)
        self.reply = {"status": "failed", "stage": stage, "error": error, "message": message, "traceback": traceback_, "compiler": compiler}


def compilers_errors():
    """Types of errors that mean that a kernel cannot be compiled."""
    try:
        from triton.errors import TritonError
        return (TritonError,)
    except ImportError:
        return ()


def failure_of(stage, error, path):
    """The candidate's exception in words: its own line, and a traceback without this machine's paths. A refusal is what it says it is."""
    if isinstance(error, Refusal):
        failed = Failed(stage, "", error.message)
        failed.reply.update(kind=error.kind, reason=error.reason)
        return failed
    text = shortened("".join(traceback.format_exception(error)), MAX_READ)
    text = shortened(without_paths(text, os.path.dirname(path)), MAX_DETAILS)
    if isinstance(error, compilers_errors()):
        message, details = of_compiler(error, path)
        return Failed(stage, type(error).__name__, message, details or text, True)
    return Failed(stage, type(error).__name__, of_python(error, path), text, isinstance(error, extension.Undefined))


class ModuleNew:
    """Whoever calls it catches Failed."""

    def __init__(self, request, device, folder):
        self.path = os.path.join(folder, MODULE + ".py")
        self.built = {one["key"]: os.path.join(folder, one["file"]) for one in request.get("extensions", ())}
        self.problem = Problem(request["problem"], request["precision"], device)
        with open(self.path, "w") as file:
            file.write(request["source"])
        self.source, self.backend = request["source"], request.get("backend", "cuda")
        self.gated, self.guard = request.get("gated", True), None
        self.model = self.made = None

    @property
    def libraries(self):
        return list(self.built.values())

    def build(self):
        """With the extensions that were compiled beforehand."""
        extension.install_built(self.built, self.refuse_flag if self.gated else None)
        self.made = self.load()
        self.model = self.construct(self.made)

    def refuse_flag(self, words):
        """It stands even if the candidate catches it."""
        refused = policy_refusal("flag", words)
        if self.guard is not None:
            self.guard.refused = self.guard.refused or refused
        raise refused

    def load(self):
        """The class. As in KernelBench, Triton's candidates are modules of their own, others continue the problem's."""
        module = types.ModuleType(MODULE)
        module.__file__ = self.path
        sys.modules[MODULE] = module
        if self.backend != "triton":
            names = {name: value for name, value in self.problem.module.__dict__.items() if not name.startswith("__")}
            module.__dict__.update(names)
        with self.held("import"):
            if self.gated:
                show_lines(self.source, self.path)
                check_module(ast.parse(self.source, self.path), self.path)
                self.guard = ImportGuard(module.__dict__)
            run_source(self.source, self.path, module)
        model = module.__dict__.get(ENTRY)
        if not isinstance(model, type):
            raise Failed("import", "NameError", f"the candidate has no class {ENTRY}; define class {ENTRY}(nn.Module)")
        return model

    @contextlib.contextmanager
    def held(self, stage):
        """What goes wrong there is the candidate's. A refusal stands even if it caught it."""
        try:
            yield
            if self.guard is not None and self.guard.refused is not None:
                raise self.guard.refused
        except BaseException as error:
            refused = self.guard.refused if self.guard is not None else None
            raise failure_of(stage, refused or error, self.path) from None

    def construct(self, model):
        arguments = self.problem.init_inputs()
        with self.held("construct"):
            built = self.problem.build(model, arguments)
        if not callable(built):
            raise Failed("construct", "TypeError", f"{ENTRY} is no module; derive it from nn.Module")
        return built

    def set_weights(self, weights):
        """(name, tensor) of each. They are copied into the candidate's own: by name where names and shapes are Model's, and else by what
        KernelBench's seed puts into both."""
        try:
            given = dict(weights)
            own, beside = weighing.held(self.model)
            alike = own.keys() == given.keys() and all(own[name].shape == one.shape for name, one in given.items())
            pairs = [(name, name) for name in given] if alike else self.matched(given, own)
            own = {**beside, **own}
            with torch.no_grad():
                for name, other in pairs:
                    own[name].copy_(given[other].reshape(own[name].shape))
        except Failed:
            raise
        except BaseException as error:
            raise failure_of("weights", error, self.path) from None

    def matched(self, given, own):
        """Pairs of names: the candidate's and Model's."""
        shapes = [name for name in given if name in own and own[name].shape != given[name].shape]
        try:
            reference = self.problem.build(self.problem.module.Model, self.problem.init_inputs()).state_dict(keep_vars=True)
            found = weighing.Matching(dict(reference), *weighing.held(self.again()))
            if found.complete:
                return found.pairs
            missing, unexpected, notes = found.missing, found.unexpected, found.notes
        except Exception as error:
            missing = [name for name in given if name not in own]
            unexpected, notes = [name for name in own if name not in given], [f"they cannot be matched: {words_of(error)}"]
        shapes = [name for name in shapes if name in missing]
        missing, unexpected = ([name for name in names if name not in shapes] for names in (missing, unexpected))
        raise Failed("weights", "", weights_message(missing, unexpected, shapes, notes))

    def again(self):
        """The candidate's module as it was before its first call, which may have changed what it holds."""
        try:
            return self.problem.build(self.made, self.problem.init_inputs())
        except Exception:
            return self.model

    def run(self, inputs):
        """The result as a list of tensors."""
        with self.held("forward"):
            result = self.model(*inputs)
            return list(result) if isinstance(result, (tuple, list)) else [result]


def check_results(results):
    """Only tensors that are what they look like pass."""
    for result in results:
        if type(result) not in (torch.Tensor, torch.nn.Parameter):
            raise Failed("forward", "TypeError", f"{ENTRY} returns {type(result).__name__}; return a torch.Tensor")
        if result.layout is not torch.strided or result.is_quantized or result.is_complex() or result.is_neg():
            raise Failed("forward", "TypeError", f"{ENTRY} returns a tensor of another layout; return a dense one")


def weights_message(missing, unexpected, shapes, notes):
    words = [f"{what}: {', '.join(sorted(names)[:8])}" for what, names in
             (("missing", missing), ("not of Model", unexpected), ("of another shape", shapes)) if names]
    return one_line(f"the weights of {ENTRY} are not those of Model ({'; '.join([*words, *notes[:2]])}); give parameters and buffers the names "
                    "and shapes they have in Model, or make the same ones in the same order, and derive others in forward")


__all__ = ["Failed", "ModuleNew", "SEED", "check_results", "failure_of", "set_seed"]
