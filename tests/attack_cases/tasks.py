"""Attacks on the YAML of tasks, and on problems in PyTorch."""

import json

from .case import ADMIT, PROBLEMS, case

TASK = """name: add
inputs: {x: [n], y: [n]}
outputs: {z: [n]}
reference: x + y
check: [{n: 7}]
timed: {n: 1000}
"""
SOURCE = "class Model: pass\ndef get_inputs(): pass\ndef get_init_inputs(): pass\n"


def task_cases():
    def task(name, words, content):
        @case(f"task: {name}", words, command=ADMIT)
        def _(folder):
            folder.write("tasks.yaml", content() if callable(content) else content)

    task("a Latin-1 byte", r"tasks.yaml:2: byte \\xe9 is not valid UTF-8", TASK.encode().replace(b"inputs", b"inp\xe9ts"))
    task("an alias of what it is in", "tasks.yaml:2: .*alias", "tasks:\n  - &a {name: *a}\n")
    task("aliases of aliases", "aliases followed|deep", "a0: &a0 [1,1]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 40)))
    task("100,000 brackets", "tasks.yaml", "[" * 100_000)
    task("100,000 closed brackets", "tasks.yaml", "[" * 100_000 + "]" * 100_000)
    task("100,000 maps in maps", "tasks.yaml", "".join(" " * i + "a:\n" for i in range(2_000)))
    task("5 million values", "more values", lambda: "[" + "," * 5_000_000 + "]")
    task("400,000 values", "tasks.yaml", lambda: "[" + "," * 399_990 + "]")
    task("a NUL", "tasks.yaml", TASK + "\0")
    task("UTF-16", "UTF-8", TASK.encode("utf-16"))
    task("a name with an escape", r"\\x1b", TASK.replace("name: add", 'name: "\\e[31m"'))
    task("a name of 10 MB", "is not allowed", lambda: TASK.replace("name: add", "name: " + "A" * 10_000_000))
    task("a size of 10^30", "is not allowed", TASK.replace("n: 7", "n: " + "9" * 30))
    task("a size of 10^18", "is not allowed", TASK.replace("n: 7", "n: " + "9" * 18))
    task("sizes that overflow together", "elements; at most", TASK.replace("[n]", "[n, n, n]").replace("1000", "200000000"))
    task("100,000 sizes of a tensor", "at most", lambda: TASK.replace("x: [n]", "x: [" + "n, " * 100_000 + "n]"))
    task("100,000 tensors", "at most", lambda: TASK.replace(
        "{x: [n], y: [n]}", "{" + ", ".join(f"x{i}: [n]" for i in range(100_000)) + "}"))
    task("100,000 dimensions", "at most", lambda: TASK + "dims: [" + ", ".join(f"n{i}" for i in range(100_000)) + "]\n")
    task("100,000 timed shapes", "timed: 100000 shapes are not allowed",
         lambda: TASK.replace("timed: {n: 1000}", "timed: [" + ", ".join(f"{{n: {i + 1}}}" for i in range(100_000)) + "]"))
    task("a timed shape twice", r"timed\[1\]: {n: 9} is also timed\[0\]", TASK.replace("{n: 1000}", "[{n: 9}, {n: 9}]"))
    task("a size that is an expression without an end", "task add", TASK + "bytes: " + "(" * 100_000 + "\n")
    task("a size divided by nothing", "is inf|0 or more", TASK + "flops: n / 0\n")
    task("a magnitude of infinity", "numbers", TASK + "magnitudes: [.inf]\n")
    task("a tolerance of NaN", "tolerance", TASK + "tolerance: .nan\n")
    case("task: a folder", r"no \*.yaml|no such", command=ADMIT)(lambda folder: (folder.path / "tasks.yaml").mkdir())
    case("task: is /dev/zero", "not a regular file", command=ADMIT)(lambda folder: (folder.path / "tasks.yaml").symlink_to("/dev/zero"))

    def problems(name, words, content):
        @case(f"problems: {name}", words, command=PROBLEMS)
        def _(folder):
            folder.write("problems.jsonl", content() if callable(content) else content)

    problems("nothing", "no problem with Model", "")
    problems("100,000 brackets", r"problems.jsonl:1: .*\n?.*deep|problems.jsonl:1", '{"code": ' + "[" * 100_000)
    problems("a NUL", r"problems.jsonl:1", b'{"code": "\0"}\n')
    problems("a NUL in the source", "field code: it holds a NUL", json.dumps({"code": SOURCE + "\0"}))
    problems("a line of 100 MB", "it has more than 4194304 bytes", lambda: '{"code": "' + "x" * 100_000_000 + '"}\n')
    problems("a Latin-1 byte", r"problems.jsonl:1", json.dumps({"code": SOURCE + "?"}).replace("?", "\xe9").encode("latin-1"))
    problems("an escape in a name of a field", r"problems.jsonl:1", '{"\\u001b[31m": 1}')
    problems("100,000 lines without one", "left out: 100000 of 100000 rows: 100000 without a source", lambda: "{}\n" * 100_000)
    case("problems: is /dev/zero", "not a regular file", command=PROBLEMS)(
        lambda folder: (folder.path / "problems.jsonl").symlink_to("/dev/zero"))
