#!/usr/bin/env python3
"""Candidates of one kind in a folder, as `temper bench judge` takes them: tests/env/kernelbench/bench_folder.py KIND FOLDER

KIND is gallery, harmless, controls, triton or cuda. Prints the options with which the folder is judged:

    build/temper bench judge $(tests/env/kernelbench/bench_folder.py cuda /tmp/cuda --copies 8 --only 'level1_[1-4]_')

Copies are the same candidate in other words, so that each is compiled and judged by itself.
"""
import argparse
import pathlib
import re

from headers import HERE, headers


def task_of(said):
    return said["problem"].removesuffix(".py").replace("/", "_")


def files_of(kind):
    folder = HERE / "candidates"
    return sorted(folder.glob(f"{kind}/*.py")) or sorted(folder.glob(f"level*/{kind}*.py"))


def reworded(source, number):
    """Its extensions have other names, and so have its kernels' declarations another text."""
    source = re.sub(r'\bname="(\w+)"', rf'name="\1_{number}"', source)
    return f"# copy {number}\n" + source.replace("__global__", f"/* {number} */ __global__")


def write(kind, folder, copies=1, only=""):
    """The names of the tasks, and how many candidates there are."""
    folder.mkdir(parents=True, exist_ok=True)
    tasks, count = set(), 0
    for path in files_of(kind):
        source = path.read_text()
        said = headers(source)
        task = task_of(said)
        if not re.search(only, task):
            continue
        tasks.add(task)
        expected = "|".join(dict.fromkeys(one.split()[0] for one in said["strict"].split(" | ")))
        for number in range(copies):
            name = f"{task}_{path.stem}" + (f"_{number}" if copies > 1 else "")
            (folder / f"{name}.py").write_text(f"# task: {task}\n# expect: {expected}\n" +
                                               (reworded(source, number) if copies > 1 else source))
            count += 1
    return sorted(tasks), count


def main():
    options = argparse.ArgumentParser(description="writes candidates of one kind as temper bench judge takes them")
    options.add_argument("kind", choices=("gallery", "harmless", "controls", "triton", "cuda"))
    options.add_argument("folder", type=pathlib.Path)
    options.add_argument("--copies", type=int, default=1, help="of each, in other words")
    options.add_argument("--only", default="", metavar="REGEX", help="tasks whose names it matches")
    told = options.parse_args()
    tasks, count = write(told.kind, told.folder, told.copies, told.only)
    if count == 0:
        options.error(f"no candidate's task matches {told.only!r}")
    print(f"tasks.path={HERE / 'problems'} tasks.names=[{','.join(tasks)}] --candidates {told.folder} --count {count}")


if __name__ == "__main__":
    main()
