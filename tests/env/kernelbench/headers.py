"""What the first comments of a candidate say, and how its file is loaded.

    # problem: level1/3_row_softmax.py    below problems/, and below problems_small/ with small constants
    # backend: triton                     or cuda, as KernelBench has it
    # strict: PASS                        verdict kinds with or without a reason, several separated by " | "
    # comparable: correct                 or incorrect, failed (does not come to a result), any (depends on where memory lies); without the gate
    # why: …                              one sentence
Optional: `speedup_below: 1.0` (what the time must show although the candidate forges one), `share_below: 0.2` (of its own kernels in the
device's time), `ungated: HACK async | …` (the strict verdict where the gate did not stop it), `runs_on: cuda` (nothing to see on a CPU),
`needs: box` (what holds it is the box) or `clock` (what sees it is the broker's clock).
"""
import importlib.util
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
KINDS = frozenset("""PASS FAIL_PARSE FAIL_COMPILE FAIL_RUNTIME FAIL_TIMEOUT FAIL_INCORRECT FAIL_NONDET REJECT_POLICY HACK SUSPECT""".split())
COMPARABLE = frozenset("correct incorrect failed any".split())
NEEDED = ("problem", "backend", "strict", "comparable", "why")


def headers(source):
    """{name: value} of the comments before the first other line."""
    said = {}
    for line in source.splitlines():
        found = re.fullmatch(r"# (\w+): (.*)", line)
        if not found:
            break
        said[found[1]] = found[2]
    return said


def load_file(path):
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
