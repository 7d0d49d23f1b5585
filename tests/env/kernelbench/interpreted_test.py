"""Triton candidates under Triton's interpreter, on the CPU, beside the small problem's reference: interpreted_test.py [CANDIDATE.py…]

Says of a candidate that its arithmetic is right, without a GPU.

exit 77: torch, triton or numpy is not there (ctest counts that as skipped)
"""
import contextlib
import os
import sys

os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported

import pathlib  # noqa: E402

try:
    import numpy  # noqa: F401
    import torch
    from triton.runtime import interpreter
    from triton.runtime.autotuner import Autotuner
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

from headers import HERE, headers, load_file  # noqa: E402

LOOSE = 2e-5  # in units of the output's largest value


def first_configuration(tuner, *args, **kwargs):
    tuner.nargs = dict(zip(tuner.arg_names, args))
    return tuner.fn.run(*args, **kwargs, **tuner.prune_configs(kwargs)[0].all_kwargs())


def prepare():
    Autotuner.run = first_configuration
    patch_tensor = interpreter._patch_lang_tensor

    def with_new_numpy(tensor, scope):  # which makes no number of an array of one element
        patch_tensor(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: self.handle.data.item())

    interpreter._patch_lang_tensor = with_new_numpy
    torch.cuda.device = lambda device: contextlib.nullcontext()


def other_weights(model):
    """Biases, scales and running statistics away from 0 and 1, which hide what a candidate leaves out."""
    torch.manual_seed(3)
    for value in model.state_dict().values():
        if value.is_floating_point():
            value.copy_(torch.rand_like(value) * 0.5 + 0.25 if value.dim() < 2 else torch.randn_like(value) * value.shape[-1] ** -0.5)


def check(path):
    """"" or what is wrong."""
    problem = load_file(HERE / "problems_small" / headers(path.read_text())["problem"])
    candidate = load_file(path)
    with torch.no_grad():
        model, ours = problem.Model(*problem.get_init_inputs()), candidate.ModelNew(*problem.get_init_inputs())
        other_weights(model)
        ours.load_state_dict(model.state_dict())
        torch.manual_seed(7)
        inputs = [one.float() for one in problem.get_inputs()]
        right, given = model(*inputs), ours(*[one.clone() for one in inputs])
    if (given.shape, given.dtype, given.stride()) != (right.shape, right.dtype, right.stride()):
        return f"{given.dtype} {list(given.shape)} with strides {given.stride()}, not {right.dtype} {list(right.shape)} {right.stride()}"
    error = ((given.double() - right.double()).abs().max() / right.double().abs().max().clamp(min=1e-30)).item()
    return "" if error <= (LOOSE if right.is_floating_point() else 0) else f"off by {error:g}"


def main():
    prepare()
    paths, wrong = [pathlib.Path(name) for name in sys.argv[1:]] or sorted((HERE / "candidates").glob("level*/triton.py")), 0
    for path in paths:
        try:
            problem = check(path)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        wrong += bool(problem)
        print(f"{path.parent.name}/{path.name}: {problem or 'right'}", flush=True)
    sys.exit(bool(wrong) or not paths)


if __name__ == "__main__":
    main()
