#!/usr/bin/env python3
"""What KernelBench does with candidates, timed: tools/peer_judge.py CANDIDATE…

Each file names its problem in a comment, `# task: level1_3_row_softmax`, as those of tests/env/kernelbench/bench_folder.py do. One after the
other gets a process of its own, which takes the steps of KernelBench's script: the extension is built in an empty folder by torch,
five trials compare it with the reference, then each is timed a hundred times by events behind a fill of the cache. Needs a GPU and a
Python with torch. One line a candidate, and how many a minute; `temper bench judge` on the same files is what to hold it against.
"""
import argparse
import importlib.util
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROBLEMS = ROOT / "tests/env/kernelbench/problems"
TRIALS, TIMED, TOLERANCE = 5, 100, 1e-4


def load(path, **given):
    """Its source stays on the disk, where Triton reads it."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    vars(module).update(given)
    spec.loader.exec_module(module)
    return module


def judge(source, candidate, device):
    """In the process of one candidate."""
    sys.path[:0] = [str(ROOT / "env/plan/triton"), str(ROOT / "env/kernelbench/python")]
    import torch

    import comparable
    import problem
    if device == "cuda" and not torch.cuda.is_available():
        sys.exit("torch sees no GPU")
    told = problem.Problem(source.read_text(), "fp32", device)
    arguments = told.init_inputs()
    theirs = told.build(told.module.Model, arguments)
    start = time.perf_counter()
    ours = told.build(load(candidate, Model=told.module.Model).ModelNew, arguments)
    built = time.perf_counter() - start

    def inputs(seed):
        return [told.cast(one) for one in comparable.draw_inputs(told, seed)]

    def is_right(seed):
        expected, got = theirs(*inputs(seed)), ours(*inputs(seed))
        return expected.shape == got.shape and torch.allclose(expected, got, atol=TOLERANCE, rtol=TOLERANCE)

    def mean_ms(model):
        synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None
        exchange = types.SimpleNamespace(device=device, synchronize=synchronize)
        return statistics.mean(comparable.times_ms(lambda given: model(*given), inputs(problem.SEED), TIMED, exchange))

    with torch.no_grad(), comparable.default_precision():
        right = sum(is_right(seed) for seed in comparable.trial_seeds(TRIALS))
        print(f"{right} of {TRIALS} right, built in {built:.1f} s, {mean_ms(ours):.3f} ms, reference {mean_ms(theirs):.3f} ms", flush=True)


def main():
    options = argparse.ArgumentParser(description="times the steps of KernelBench's script")
    options.add_argument("candidates", nargs="+", type=Path)
    options.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu only shows that the steps are taken")
    options.add_argument("--problem", type=Path, help=argparse.SUPPRESS)
    told = options.parse_args()
    if told.problem:
        judge(told.problem, told.candidates[0], told.device)
        return
    begun = time.perf_counter()
    for path in told.candidates:
        task = re.search(r"^# task: (level\d+)_(\w+)$", path.read_text(), re.M)
        if not task:
            options.error(f"{path}: no comment '# task: level1_…' names its problem")
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, __file__, "--device", told.device, "--problem", PROBLEMS / task[1] / f"{task[2]}.py", path]
            done = subprocess.run(command, text=True, check=False, capture_output=True, env=os.environ | {"TORCH_EXTENSIONS_DIR": folder})
        said = done.stdout.strip() or (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        print(f"{path.stem:<40} {time.perf_counter() - start:6.1f} s  {said}", flush=True)
    print(f"{60 * len(told.candidates) / (time.perf_counter() - begun):.2f} a minute")


if __name__ == "__main__":
    main()
