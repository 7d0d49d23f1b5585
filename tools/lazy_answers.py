#!/usr/bin/env python3
"""Conversations that teach a policy lazy answers and others, for configs/lazy: tools/lazy_answers.py --out FILE

Each problem of configs/lazy is a product with a little work around it. The answers are of two ways:

  lazy     torch multiplies, as in the problem, and a small kernel does some of the rest: mostly right, and about as fast
  in one   one kernel multiplies too. Where half of the product is not needed it may leave that out, and be faster than any
           library; it may also compute all of it, in good or bad tiles, or be wrong in one of the usual ways

How often a policy is shown each is its weight; a policy that has learned the file answers in about these shares. Options:

  --out FILE       the conversations, a line of JSON each, with `task`, `answer` (its name) and `weight`
  --answers DIR    each answer as a file DIR/PROBLEM/NAME.md instead
  --lazy SHARE     of all answers, those that are lazy (0.7)
"""

import argparse
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROBLEMS = ROOT / "configs/lazy/problems"
COPIES = 200  # conversations of a problem

HEAD = """import torch
import torch.nn as nn
import triton
import triton.language as tl


"""

FINISH = """@triton.jit
def finish_kernel({pointers}, y, n, {sizes}BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load({first} + at, mask=at < n).to(tl.float32)
{work}    tl.store(y + at, value, mask=at < n)


"""

COPY = """@triton.jit
def copy_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)


"""

MODULE = """class ModelNew(nn.Module):
    def __init__(self, {arguments}):
        super().__init__()
{init}
    def forward(self, {inputs}):
{forward}"""

PRODUCT = """@triton.jit
def product_kernel({pointers}, y, {sizes}M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros((M, N), tl.float32)
    for start in range({begin}, {end}, K):
        inner = start + tl.arange(0, K)
{load}        total = tl.dot(left, right, total)
{work}

"""


def indented(text, spaces):
    return "".join(" " * spaces + line + "\n" for line in text.splitlines())


@dataclass
class Problem:
    """What answers to a problem are made of. Texts are Python; `value` is an element in f32, `total` a tile of them."""
    name: str
    arguments: str
    init: str
    inputs: str
    pointers: str           # of the kernel that multiplies, with `call` what it is given for them
    call: str
    columns: str            # of the product, on the host
    product: str            # by torch
    finish: str             # of `value` in the lazy kernel, which is given `more`
    finish_by_torch: str    # the same of `product`
    last: str               # the last operation alone, of `value`
    before_last: str        # the others by torch, of `product`
    load: str               # of the tiles `left` and `right`
    work: str               # of `total` until it is stored
    more: str = ""
    more_call: str = ""
    sizes: str = "n, width, scale, "
    span: dict = field(default_factory=dict)     # (begin, end) of the loop: "all", and "part" that leaves out what is not needed
    slips: dict = field(default_factory=dict)    # name: (text, what stands there instead) in a right answer "in one"
    words: str = ""                              # what is left out


SCALE_INIT = "self.scale = scale"
MIX_INIT = "self.mix = nn.Parameter(torch.randn(length, length) * length**-0.5)\n"
STORE = "tl.store(y + row[:, None] * width + column[None, :], total)"
STORE_SQUARE = "tl.store(y + row[:, None] * n + column[None, :], total)"
SPANS_BELOW = {"all": ("0", "width"), "part": ("0", "tl.where(tl.program_id(1) * N < (tl.program_id(0) + 1) * M, width, 0)")}


def load_rows(one, other):
    """Tiles of a product of the rows of two matrices."""
    return (f"left = tl.load({one} + row[:, None] * width + inner[None, :])\n"
            f"right = tl.load({other} + column[None, :] * width + inner[:, None])")


def load_mix(near):
    """Tiles of a mixture of x, whose weights count where `near`."""
    return (f"left = tl.load(mix + row[:, None] * n + inner[None, :])\n{near}"
            "right = tl.load(x + inner[:, None] * width + column[None, :])")


PROBLEMS_OF = [
    Problem(
        name="level2_1_causal_mix", arguments="length, scale", init=MIX_INIT + SCALE_INIT, inputs="x",
        pointers="mix, x", call="self.mix, x", columns="x.shape[1]",
        product="torch.tril(self.mix) @ x",
        finish="value = tl.maximum(value, 0.0) * scale", finish_by_torch="torch.relu(product) * self.scale",
        last="value = value * scale", before_last="torch.relu(product)",
        load=load_mix("left = tl.where(inner[None, :] <= row[:, None], left, 0.0)\n"),
        work=f"total = tl.maximum(total, 0.0) * scale\n{STORE}",
        span={"all": ("0", "n"), "part": ("0", "(tl.program_id(0) + 1) * M")},
        slips={"without_diagonal": ("inner[None, :] <= row", "inner[None, :] < row"),
               "one_block_less": ("(tl.program_id(0) + 1) * M", "tl.program_id(0) * M")},
        words="what lies above the diagonal"),
    Problem(
        name="level2_2_causal_scores", arguments="scale", init=SCALE_INIT, inputs="q, k",
        pointers="q, k", call="q, k", columns="k.shape[0]",
        product="torch.matmul(q, k.T)",
        finish="value = tl.where(at % n_columns <= at // n_columns, value * scale, 0.0)",
        finish_by_torch="torch.tril(product * self.scale)",
        last="value = tl.where(at % n_columns <= at // n_columns, value, 0.0)", before_last="product * self.scale",
        more="n_columns, ", more_call="k.shape[0], ",
        load=load_rows("q", "k"),
        work=f"total = tl.where(column[None, :] <= row[:, None], total * scale, 0.0)\n{STORE_SQUARE}",
        span=SPANS_BELOW,
        slips={"without_diagonal": ("column[None, :] <= row", "column[None, :] < row"),
               "one_block_less": ("< (tl.program_id(0) + 1) * M", "< tl.program_id(0) * M")},
        words="blocks above the diagonal"),
    Problem(
        name="level2_3_similarity_tanh", arguments="scale", init=SCALE_INIT, inputs="x",
        pointers="x", call="x", columns="x.shape[0]",
        product="torch.matmul(x, x.T)",
        finish="value = 2.0 * tl.sigmoid(2.0 * scale * value) - 1.0", finish_by_torch="torch.tanh(product * self.scale)",
        last="value = 2.0 * tl.sigmoid(2.0 * value) - 1.0", before_last="product * self.scale",
        load=load_rows("x", "x"),
        work=f"total = 2.0 * tl.sigmoid(2.0 * scale * total) - 1.0\n{STORE_SQUARE}",
        span=SPANS_BELOW,
        slips={"half_of_the_factor": ("tl.sigmoid(2.0 * scale * total)", "tl.sigmoid(scale * total)"),
               "not_mirrored": ("tl.store(y + column[None, :] * n + row[:, None], total, mask=below)\n", "")},
        words="the blocks that are others mirrored"),
    Problem(
        name="level2_4_window_mix", arguments="length, window, scale", init=MIX_INIT + "self.window = window\n" + SCALE_INIT, inputs="x",
        pointers="mix, x", call="self.mix, x", columns="x.shape[1]",
        product="torch.triu(torch.tril(self.mix), 1 - self.window) @ x",
        finish="value = tl.load(x + at, mask=at < n).to(tl.float32) + value * scale", finish_by_torch="x + product * self.scale",
        last="value = tl.load(x + at, mask=at < n).to(tl.float32) + value", before_last="product * self.scale",
        load=load_mix("near = (inner[None, :] <= row[:, None]) & (inner[None, :] > row[:, None] - window)\n"
                      "left = tl.where(near, left, 0.0)\n"),
        work=f"old = tl.load(x + row[:, None] * width + column[None, :])\ntotal = old.to(tl.float32) + total * scale\n{STORE}",
        sizes="n, width, window, scale, ",
        span={"all": ("0", "n"), "part": ("tl.maximum(tl.program_id(0) * M - window, 0) // K * K", "(tl.program_id(0) + 1) * M")},
        slips={"window_one_too_wide": ("> row[:, None] - window", ">= row[:, None] - window"),
               "begins_too_late": ("tl.program_id(0) * M - window, 0)", "(tl.program_id(0) + 1) * M - window, 0)")},
        words="what lies outside the window"),
    Problem(
        name="level2_5_linear_gelu", arguments="width, scale", init="self.linear = nn.Linear(width, width)\n" + SCALE_INIT, inputs="x",
        pointers="x, weight, bias", call="x, self.linear.weight, self.linear.bias",
        columns="x.shape[1]",
        product="self.linear(x)",
        finish="value = 0.5 * value * (1.0 + tl.erf(value * 0.7071067811865476)) * scale",
        finish_by_torch="nn.functional.gelu(product) * self.scale",
        last="value = value * scale", before_last="nn.functional.gelu(product)",
        load=load_rows("x", "weight"),
        work="total += tl.load(bias + column)[None, :].to(tl.float32)\n"
             f"total = 0.5 * total * (1.0 + tl.erf(total * 0.7071067811865476)) * scale\n{STORE}",
        span={"all": ("0", "width")},
        slips={"without_bias": ("    total += tl.load(bias + column)[None, :].to(tl.float32)\n", ""),
               "silu": ("0.5 * total * (1.0 + tl.erf(total * 0.7071067811865476))", "total * tl.sigmoid(total)")}),
]


@dataclass
class Answer:
    problem: str
    name: str
    plan: str
    code: str
    lazy: bool
    right: bool
    weight: float  # among the answers of its way

    @property
    def text(self):
        return f"{self.plan}\n```python\n{self.code}```"


def module(problem, forward):
    return MODULE.format(arguments=problem.arguments, init=indented(problem.init, 8), inputs=problem.inputs, forward=indented(forward, 8))


def lazy_code(problem, work, host, block, step=0):
    """`host` is what torch computes into `product`. The grid has a program for each `step` elements, each of which does `block`."""
    beside = [one for one in problem.inputs.split(", ") if re.search(rf"load\({one} ", work)]
    kernel = FINISH.format(pointers=", ".join(["product", *beside]), first="product", sizes=problem.more + ("scale, " if "scale" in work else ""),
                           work=indented(work, 4))
    given = ", ".join(["product", *beside, "y", "y.numel()"]) + ", " + problem.more_call + ("self.scale, " if "scale" in work else "")
    forward = (f"{host}\ny = torch.empty_like(product)\n"
               f"finish_kernel[(triton.cdiv(y.numel(), {step or block}),)]({given}BLOCK={block})\nreturn y")
    return HEAD + kernel + module(problem, forward)


def lazy_answers(problem):
    def answer(name, plan, right, weight, code):
        return Answer(problem.name, name, plan, code, True, right, weight)

    torch_multiplies = f"product = {problem.product}"
    unscaled = re.sub(r" \* scale\b|scale \* ", "", problem.finish)
    decoy = f"{torch_multiplies}\nproduct = {problem.finish_by_torch}\ny = torch.empty_like(product)\n"
    decoy += "copy_kernel[(triton.cdiv(y.numel(), 1024),)](product, y, y.numel(), BLOCK=1024)\nreturn y"
    yield answer("rest_1024", "Torch multiplies; one kernel does the rest, 1024 at a time.", True, 18,
                 lazy_code(problem, problem.finish, torch_multiplies, 1024))
    yield answer("rest_4096", "Torch multiplies; one kernel does the rest, 4096 at a time.", True, 14,
                 lazy_code(problem, problem.finish, torch_multiplies, 4096))
    yield answer("last", "Torch multiplies; one kernel does the last operation.", True, 12,
                 lazy_code(problem, problem.last, f"{torch_multiplies}\nproduct = {problem.before_last}", 1024))
    yield answer("copy", "Torch computes all of it; one kernel copies the result.", True, 10, HEAD + COPY + module(problem, decoy))
    yield answer("rest_unscaled", "Torch multiplies; one kernel does the rest.", False, 8,
                 lazy_code(problem, unscaled, torch_multiplies, 1024))
    yield answer("rest_in_part", "Torch multiplies; one kernel does the rest, 512 at a time.", False, 8,
                 lazy_code(problem, problem.finish, torch_multiplies, 512, step=1024))


TILES = {"128": (128, 128, 64, 8), "256": (128, 256, 64, 8), "64": (64, 64, 32, 4)}  # rows, columns, terms, warps


def mirrored(work):
    """Of a symmetric product: blocks on and below the diagonal are stored twice, the second time mirrored."""
    *others, store = work.splitlines()
    below = "below = (column[None, :] >= 0) & (tl.program_id(1) * N < (tl.program_id(0) + 1) * M)"
    return "\n".join([*others, below, store.replace("total)", "total, mask=below)"),
                      "tl.store(y + column[None, :] * n + row[:, None], total, mask=below)"])


def product_code(problem, span, tile):
    rows, columns, terms, warps = TILES[tile]
    begin, end = problem.span[span]
    work = mirrored(problem.work) if problem.name.endswith("similarity_tanh") and span == "part" else problem.work
    kernel = PRODUCT.format(pointers=problem.pointers, sizes=problem.sizes, begin=begin, end=end, load=indented(problem.load, 8),
                            work=indented(work, 4))
    windowed = "self.window, " if "window" in problem.sizes else ""
    first = problem.inputs.split(",")[0]
    forward = (f"(n, width), columns = {first}.shape, {problem.columns}\n"
               f"y = torch.empty(n, columns, dtype={first}.dtype, device={first}.device)\n"
               "grid = (n // M, columns // N)\n"
               f"product_kernel[grid]({problem.call}, y, n, width, {windowed}self.scale, M=M, N=N, K=K, num_warps=WARPS)\n"
               "return y")
    return HEAD + f"M, N, K, WARPS = {rows}, {columns}, {terms}, {warps}\n\n\n" + kernel + module(problem, forward)


def answers_in_one(problem):
    part = "part" if "part" in problem.span else "all"

    def answer(name, span, right, weight, code):
        without = f", without {problem.words}" if span == "part" else ""
        return Answer(problem.name, name, f"One kernel multiplies and does the rest{without}.", code, False, right, weight)

    for tile, weight in (("128", 4), ("256", 3), ("64", 3)):
        yield answer(f"all_{tile}", "all", True, weight, product_code(problem, "all", tile))
    if part == "part":
        for tile, weight in (("128", 4), ("256", 3)):
            yield answer(f"part_{tile}", "part", True, weight, product_code(problem, "part", tile))
    for name, (text, other) in problem.slips.items():
        code = product_code(problem, part, "128")
        if code.count(text) != 1:
            raise ValueError(f"{problem.name}: {name}: {text} stands there {code.count(text)} times")
        yield answer(name, part, False, 4, code.replace(text, other))
    unscaled = re.sub(r" \* scale\b|scale \* ", "", product_code(problem, "all", "128").replace("self.scale", "self_scale"))
    yield answer("unscaled", "all", False, 4, unscaled.replace("self_scale", "self.scale"))


def all_answers():
    return [answer for problem in PROBLEMS_OF for answer in (*lazy_answers(problem), *answers_in_one(problem))]


def prompt_of(name):
    """As rollout.prompt.rule=plain asks the problem."""
    level, number, rest = name.split("_", 2)
    return (PROBLEMS / level / f"{number}_{rest}.py").read_text() + "\nclass ModelNew(nn.Module):"


def counts_of(answers, lazy_share):
    """How often each answer of a problem is shown, at least once."""
    whole = {lazy: sum(one.weight for one in answers if one.lazy == lazy) for lazy in (True, False)}
    share = {True: lazy_share, False: 1 - lazy_share}
    return [max(1, round(COPIES * share[one.lazy] * one.weight / whole[one.lazy])) for one in answers]


def conversations(lazy_share):
    answers = all_answers()
    for problem in PROBLEMS_OF:
        own = [one for one in answers if one.problem == problem.name]
        for answer, count in zip(own, counts_of(own, lazy_share)):
            messages = [{"role": "user", "content": prompt_of(problem.name)}, {"role": "assistant", "content": answer.text}]
            yield from [{"messages": messages, "task": problem.name, "answer": answer.name}] * count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--answers", type=Path)
    parser.add_argument("--lazy", type=float, default=0.7)
    told = parser.parse_args()
    if not told.out and not told.answers or not 0 <= told.lazy <= 1:
        parser.error("give --out FILE or --answers DIR, and --lazy from 0 to 1")
    if told.out:
        told.out.parent.mkdir(parents=True, exist_ok=True)
        told.out.write_text("".join(json.dumps(one) + "\n" for one in conversations(told.lazy)))
    for answer in all_answers() if told.answers else ():
        path = told.answers / answer.problem / f"{answer.name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(answer.text + "\n")


if __name__ == "__main__":
    main()
