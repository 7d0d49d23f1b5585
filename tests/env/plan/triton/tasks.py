"""Requests for the shipped tasks: what the judge asks the planner about a candidate, read from env/tasks/cuda."""
import ast
import functools
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[4]
CANDIDATES = Path(__file__).resolve().parent / "candidates"
TARGET = {"name": "NVIDIA H200", "architecture": 90, "multiprocessors": 132, "max_shared_bytes": 232448, "l2_bytes": 60 << 20,
          "memory_bytes": 150110011392, "clock_khz": 1980000, "memory_clock_khz": 3201000, "bus_bits": 6144}


@functools.cache
def all_tasks():
    tasks = {}
    for path in sorted((ROOT / "env/tasks/cuda").glob("*.yaml")):
        file = yaml.safe_load(path.read_text())
        for task in file["tasks"] if "tasks" in file else [file]:
            tasks[task["name"]] = {**file.get("defaults", {}), **task}
    return tasks


def shape_of(spec):
    return spec["shape"] if isinstance(spec, dict) else spec


def dimensions(task):
    """The sizes in the order of the arguments: as written, or the order in which they appear."""
    seen = [size for spec in [*task["inputs"].values(), *task["outputs"].values()] for size in shape_of(spec) if isinstance(size, str)]
    return task.get("dims") or list(dict.fromkeys(seen))


def buffers(specs, sizes):
    return [{"name": name, "type": spec.get("type", "f32") if isinstance(spec, dict) else "f32",
             "sizes": [sizes.get(size, size) for size in shape_of(spec)]} for name, spec in specs.items()]


def shape_request(task, sizes):
    return {"inputs": buffers(task["inputs"], sizes), "outputs": buffers(task["outputs"], sizes),
            "dims": [{"name": name, "value": sizes[name]} for name in dimensions(task)]}


def request_of(shapes, source="", **changed):
    return {"source": source, "entry": "launch", "wall_s": 60.0, "cpu_s": 120, "memory_bytes": 4 << 30, "reply_bytes": 64 << 20,
            "target": TARGET, "shapes": shapes, **changed}


def timed_of(task):
    return task["timed"] if isinstance(task["timed"], list) else [task["timed"]]


def task_request(name, source=""):
    task = all_tasks()[name]
    return request_of([shape_request(task, sizes) for sizes in [*task["check"], *timed_of(task)]], source)


def buffer(name, text):
    """A buffer from `f32 4 8`."""
    kind, *sizes = text.split()
    return {"name": name, "type": kind, "sizes": [int(size) for size in sizes]}


def shape(inputs, outputs, **dims):
    """A shape from {"x": "f32 4 8"}, {"y": "f32 4"}, n=4."""
    return {"inputs": [buffer(*one) for one in inputs.items()], "outputs": [buffer(*one) for one in outputs.items()],
            "dims": [{"name": name, "value": value} for name, value in dims.items()]}


def headers(source):
    """What the first comments of a candidate say: {"task": …} or {"shapes": [[inputs, outputs, dims], …]}, and what is expected."""
    said = {}
    for line in source.splitlines():
        if not line.startswith("# "):
            break
        key, _, words = line[2:].partition(": ")
        said[key] = words
    if "shapes" in said:
        said["shapes"] = [shape(inputs, outputs, **dims) for inputs, outputs, dims in ast.literal_eval(said["shapes"])]
    return said
