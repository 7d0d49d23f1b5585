"""Makes problems small enough for a core: halves the whole numbers that a problem's file gives names to, while its model still runs on them."""
import ast
import time

import sources  # noqa: F401
import torch

import room
from problem import Problem

LEAST = 4  # what is halved stays above
MOST_NUMBERS = 1 << 20  # of inputs, weights and outputs
MOST_S = 0.1  # that a call takes
FORWARD_S = 5.0


def named_numbers(tree):
    """Nodes of the numbers in the file's own assignments."""
    found = []
    for line in tree.body:
        if isinstance(line, ast.Assign):
            found += [one for one in ast.walk(line.value) if isinstance(one, ast.Constant) and type(one.value) is int and one.value >= 2 * LEAST]
    return found


def runs(source, seconds):
    """Bytes of all that there is, from shapes; None where it does not run."""
    try:
        return room.shapes(Problem(source, "fp32", "cpu"), seconds)
    except Exception:
        return None


def call_s(source):
    problem = Problem(source, "fp32", "cpu")
    with torch.no_grad():
        model = problem.build(problem.module.Model, problem.init_inputs())
        inputs = problem.module.get_inputs()
        start = time.perf_counter()
        model(*inputs)
    return time.perf_counter() - start


def halved(source, seconds=FORWARD_S):
    """The source with one number halved, the largest first, or all of one value; None where no other runs."""
    tree = ast.parse(source)
    numbers = sorted(named_numbers(tree), key=lambda one: -one.value)
    several = [[one] for one in numbers] + [[one for one in numbers if one.value == value] for value in dict.fromkeys(one.value for one in numbers)]
    for some in [*several, numbers]:
        whole = [one.value for one in some]
        for one in some:
            one.value //= 2
        changed = ast.unparse(tree)
        if some and runs(changed, seconds) is not None:
            return changed
        for one, value in zip(some, whole):
            one.value = value
    return None


def smaller(source, most=MOST_NUMBERS, seconds=MOST_S):
    """The source as small as that, or as it can be made."""
    known = runs(source, FORWARD_S)
    if known is None:
        return source
    while sum(known.values()) > 4 * most:
        changed = halved(source)
        if changed is None:
            raise ValueError(f"it cannot be made smaller than {sum(known.values()) >> 20} MiB")
        source, known = changed, runs(changed, FORWARD_S)
    while call_s(source) > seconds:
        changed = halved(source)
        if changed is None:
            break
        source = changed
    return source
