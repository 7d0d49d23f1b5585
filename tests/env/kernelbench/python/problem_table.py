#!/usr/bin/env python3
"""Lists what problems can tell: for each file and precision, which answers without work pass, strictly and as KernelBench counts, over so many
draws, whether the reference is chaotic there, and whether it draws at random.

    problem_table.py KernelBench/level1 [--precision fp32,bf16] [--small] [--draws 25] [--others]

--small halves the problems' sizes until a core computes them in a moment. --others also asks whether right answers by other arithmetic are right:
in float64, and without the library of fast convolutions.
"""
import argparse
import os
import select
import signal
import sys
import time
from pathlib import Path

import sources  # noqa: F401
import torch

import compare
import judged
import power
import room
import smaller
from problem import ProblemError

TOLERANCES = {"fp32": 1e-4, "fp16": 1e-2, "bf16": 1e-2}
KEY = "table"


def passing(loaded, draws):
    """Names of the answers without work that pass all strict draws."""
    loaded.strict.use_weights(KEY)
    other, left = loaded.strict.made(draws, KEY, always_plain=True), None
    for trial in range(draws):
        drawn = loaded.strict.made(trial, KEY)
        one = set(power.passing([(drawn.expected, drawn.inputs, other.expected)], lambda _, got, drawn=drawn: drawn.compare(got, loaded.tolerance)))
        left = one if left is None else left & one
        if not left:
            break
    return sorted(left)


def in_float64(loaded, drawn):
    truths = loaded.strict.truths(drawn.inputs)
    return None if truths[0] is None else [one.to(each.reference.dtype) for one, each in zip(truths, drawn.expected)]


def without_fast_convolutions(loaded, drawn):
    with torch.backends.mkldnn.flags(enabled=False):
        return loaded.strict.run(loaded.strict.model, drawn.inputs)


def refused(loaded, draws):
    """Which right answers by other arithmetic are wrong in which kinds of draws."""
    said = []
    for trial in range(draws):
        drawn = loaded.strict.made(trial, KEY)
        for name, answer in (("float64", in_float64), ("plain", without_fast_convolutions)):
            try:
                got = answer(loaded, drawn)
            except RuntimeError:
                continue
            if got is not None:
                result = drawn.compare([one.contiguous() for one in got], loaded.tolerance)
                said += [] if result.right else [f"{name}:{drawn.form} ({result.message})"]
    return said


def row(source, precision, told):
    start = time.perf_counter()
    request = {"source": source, "precision": precision, "tolerance": TOLERANCES[precision], "trials": 2}
    try:
        loaded = judged.Loaded(request, "cpu", room.Room("cpu"))
        reply, load_s = loaded.reply(), time.perf_counter() - start
        weak = passing(loaded, told.draws)
        plain = loaded.strict.made(0, KEY, always_plain=True)
        said = [f"weak {','.join(weak) or '-'}", f"weak comparably {','.join(reply['weak_comparable']) or '-'}",
                f"off {compare.share_off(plain.expected):.1e}", *([f"without float64 ({reply['without_float64']})"] if reply["without_float64"] else [])]
        forms = {form: number for (form, number, followed), count in sorted(loaded.strict.followed.items()) if followed and count}
        short = [f"{form}/{number}" for form, number in forms.items() if number]
        never = {form for form, *_ in loaded.strict.followed} - forms.keys()
        said += [f"short {','.join(short)}"] * bool(short) + [f"plain for {','.join(sorted(never))}"] * bool(never)
        if told.others:
            wrong = refused(loaded, told.draws)
            said += [f"REFUSED {'; '.join(wrong)}"] if wrong else ["others right"]
        return f"{' | '.join(said)} | loaded in {load_s:.1f} s"
    except ProblemError as error:
        return f"{error.reason}: {error}"


def said_of(file, precision, told):
    """One line, or why there is none."""
    try:
        source = file.read_text()
        return row(smaller.smaller(source) if told.small else source, precision, told)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def within_limit(file, precision, told):
    """In a process of its own, which may take so long and leaves no memory behind."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "w") as out:
            out.write(said_of(file, precision, told))
        os._exit(0)
    os.close(writer)
    if not select.select([reader], [], [], told.limit)[0]:
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reader) as said:
        text = said.read()
    os.waitpid(child, 0)
    return text or f"took longer than {told.limit} s, or too much memory"


def main():
    options = argparse.ArgumentParser(description="lists what problems can tell")
    options.add_argument("paths", nargs="+", type=Path)
    options.add_argument("--precision", default="fp32,bf16")
    options.add_argument("--draws", type=int, default=25)
    options.add_argument("--limit", type=int, default=120, help="seconds for each problem and precision")
    options.add_argument("--small", action="store_true")
    options.add_argument("--others", action="store_true")
    told = options.parse_args()
    torch.set_num_threads(1)
    files = [file for path in told.paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    for file in files:
        for precision in told.precision.split(","):
            said = within_limit(file, precision, told)
            print(f"{file.parent.name}/{file.stem} {precision}: {' '.join(said.split())}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
