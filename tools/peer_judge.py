#!/usr/bin/env python3
"""What KernelBench does with candidates, timed: tools/peer_judge.py CANDIDATE…

Each file names its problem in a comment, `# task: level1_3_row_softmax`, as those of tests/env/kernelbench/bench_folder.py do. One after the
other gets a process of its own, which takes the steps of KernelBench's script: the extension is built in an empty folder by torch,
five trials compare it with the reference, then each is timed a hundred times by events behind a fill of the cache. Needs a GPU and a
Python with torch. One line a candidate, and how many a minute; `temper bench judge` on the same files is what to hold it against.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROBLEMS = ROOT / "tests/env/kernelbench/problems"
TRIALS, TIMED, WARM, SEED, TOLERANCE, FILL_BYTES = 5, 100, 3, 42, 1e-4, 256 << 20


def load(path, **given):
    import importlib.util
    spec = importlib.util.spec_from_file_location(path.stem.replace(".", "_"), path)
    module = importlib.util.module_from_spec(spec)
    vars(module).update(given)
    spec.loader.exec_module(module)
    return module


def judge(problem, candidate):
    """In the process of one candidate."""
    import torch
    if not torch.cuda.is_available():
        sys.exit("torch sees no GPU")

    def on_gpu(values):
        return [one.cuda() if torch.is_tensor(one) else one for one in values]

    def made(model, arguments):
        torch.manual_seed(SEED)
        return model(*arguments).cuda()

    def inputs(seed):
        torch.manual_seed(seed)
        return on_gpu(reference.get_inputs())

    def mean_ms(model):
        given, times = inputs(SEED), []
        for _ in range(WARM):
            model(*given)
        torch.cuda.synchronize()
        for _ in range(TIMED):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.empty(FILL_BYTES, dtype=torch.int8, device="cuda").fill_(1)
            begin.record()
            model(*given)
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end))
        return statistics.mean(times)

    reference = load(problem)
    with torch.no_grad():
        torch.manual_seed(SEED)
        arguments = on_gpu(reference.get_init_inputs())
        theirs = made(reference.Model, arguments)
        start = time.perf_counter()
        ours = made(load(candidate, Model=reference.Model).ModelNew, arguments)
        built, right = time.perf_counter() - start, 0
        for trial in range(TRIALS):
            expected, got = theirs(*inputs(SEED + trial)), ours(*inputs(SEED + trial))
            right += expected.shape == got.shape and torch.allclose(expected, got, atol=TOLERANCE, rtol=TOLERANCE)
        print(f"{right} of {TRIALS} right, built in {built:.1f} s, {mean_ms(ours):.3f} ms, reference {mean_ms(theirs):.3f} ms", flush=True)


def main():
    options = argparse.ArgumentParser(description="times the steps of KernelBench's script")
    options.add_argument("candidates", nargs="+", type=Path)
    options.add_argument("--problem", type=Path, help=argparse.SUPPRESS)
    told = options.parse_args()
    if told.problem:
        judge(told.problem, told.candidates[0])
        return
    begun = time.perf_counter()
    for path in told.candidates:
        task = re.search(r"^# task: (level\d+)_(\w+)$", path.read_text(), re.M)
        if not task:
            options.error(f"{path}: no comment '# task: level1_…' names its problem")
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, __file__, "--problem", PROBLEMS / task[1] / f"{task[2]}.py", path], text=True, check=False,
                                  capture_output=True, env=os.environ | {"TORCH_EXTENSIONS_DIR": folder})
        said = done.stdout.strip() or (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        print(f"{path.stem:<40} {time.perf_counter() - start:6.1f} s  {said}", flush=True)
    print(f"{60 * len(told.candidates) / (time.perf_counter() - begun):.2f} a minute")


if __name__ == "__main__":
    main()
