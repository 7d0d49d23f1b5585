#!/usr/bin/env python3
"""Fails on an include that goes against the arrows between rooms, on a vendor header outside its one home, on a circle of many
modules, on a flat folder of many files, on a namespace that is not the folder's, on a type name that one namespace defines twice, and
on a CMake file that filters lists of sources.

trainer → rollout → {policy, env} → base; policy and env never meet. Inside a folder ROOMS says who knows whom.
"""

import collections
import pathlib
import re
import sys

# Room → the rooms whose headers it may include, besides itself and base.
ROOMS = {
    "env/languages": "",
    "env/task": "env/languages env/task/problems",
    "env/task/problems": "env/task",
    "env/call": "env/task",
    "env/verdict": "env/languages env/task env/call",
    "env/judge": "env/task env/verdict env/languages",
    "env/box": "env/task env/call",
    "env/compile": "env/verdict env/languages env/box",
    "env/plan": "env/task env/call env/verdict env/languages env/box env/compile",
    "env/plan/triton": "env/task env/call env/verdict env/languages env/box env/plan",
    "env/gpu": "env/task env/call env/verdict env/languages env/box env/plan",
    "env/gpu/device": "env/plan env/gpu",
    "env/gpu/runner": "env/box env/plan env/gpu env/gpu/device",
    "env/procedure": "env/task env/call env/verdict env/languages env/box env/compile env/plan env/gpu",
    "env/kernelbench": "env/task env/verdict env/languages env/box env/plan env/plan/triton env/procedure",
    "env/broker": "env/verdict env/languages env/judge env/box env/plan env/plan/triton env/procedure env/kernelbench",
    "env/runner": "env/call env/box",
    "env/oracle": "env/task env/call env/verdict env/box env/gpu env/gpu/device",
    "env/admission": "env/task env/judge env/box env/gpu env/procedure",
    "env/admission/trial": "env/task env/call env/gpu env/gpu/device env/oracle env/admission",

    "policy/ranks": "",
    "policy/ops": "",
    "policy/ops/cpu": "policy/ops",
    "policy/ops/cuda": "policy policy/ops",
    "policy/bench": "policy/ops/cuda",
    "policy": "policy/ops policy/ops/cpu policy/parameters policy/cpu policy/cuda",
    "policy/parameters": "policy policy/ops policy/ranks policy/hugging_face policy/cuda",
    "policy/cpu": "policy policy/ops policy/ops/cpu policy/parameters",
    "policy/cuda": "policy policy/ops policy/ops/cuda policy/parameters policy/cpu policy/bench",
    "policy/text": "policy policy/text/pieces",
    "policy/text/pieces": "",
    "policy/chat": "policy/text policy/text/pieces",
    "policy/hugging_face": "policy policy/ranks policy/parameters policy/text policy/chat",

    "rollout/prompt": "env/languages env/task env/verdict",
    "rollout": "env/task env/verdict env/judge policy policy/ranks policy/text policy/chat rollout/prompt",
    "rollout/traces": "env/languages env/task env/verdict env/judge policy/ranks policy/ops/cpu",

    "trainer": "env/judge trainer/cold_start trainer/run",
    "trainer/algorithm": "rollout",
    "trainer/learn": "rollout policy policy/ranks policy/parameters trainer/algorithm trainer/config trainer/plan trainer/run "
                     "trainer/cold_start",
    "trainer/cold_start": "env/task env/verdict env/judge policy policy/ranks policy/parameters policy/text policy/chat policy/ops/cpu rollout "
                          "rollout/prompt rollout/traces trainer/config trainer/learn trainer/run trainer/checkpoint",
    "trainer/config": "env/languages env/task env/judge policy policy/ranks policy/text policy/chat policy/cuda policy/ops/cpu rollout "
                      "rollout/prompt rollout/traces trainer/algorithm trainer/learn trainer/cold_start trainer/evaluate trainer/checkpoint trainer/run",
    "trainer/plan": "env/task env/verdict env/oracle env/kernelbench policy policy/ranks policy/text policy/chat policy/cuda policy/parameters "
                    "policy/hugging_face rollout rollout/prompt rollout/traces trainer/config trainer/checkpoint trainer/cold_start trainer/run",
    "trainer/evaluate": "env/task env/verdict env/judge policy/ranks policy/text policy/chat rollout trainer/algorithm trainer/config trainer/run",
    "trainer/checkpoint": "env/task policy policy/ranks policy/parameters policy/chat policy/hugging_face trainer/config trainer/run",
    "trainer/run": "env/task policy policy/ranks policy/text policy/chat policy/cuda policy/parameters policy/hugging_face policy/ops/cpu rollout "
                   "trainer/algorithm trainer/learn trainer/cold_start trainer/config trainer/plan trainer/evaluate "
                   "trainer/checkpoint",
    "trainer/app": "env policy rollout rollout/traces trainer",
}
# Rooms whose names here stand for all of their own rooms too.
WHOLE = {"trainer/app": ("env", "policy", "rollout", "trainer")}
FOLDERS = ("base", "env", "policy", "rollout", "trainer")
MOST_IN_CIRCLE = 3  # modules, a header and its source as one
MOST_FILES = 30  # flat in a folder
DATA = ("tests/gallery", "tests/env/plan/triton/candidates", "tests/env/kernelbench/candidates", "tests/fuzz/corpus", "env/tasks", "docs",
        "configs")

TORCH = re.compile(r"^(ATen|torch|c10|caffe2)/")
# Header → files that may include it, as path prefixes.
HOMES = {
    "torch": ("policy/", "env/oracle/", "env/admission/trial/", "trainer/learn/optimizer", "trainer/learn/learner", "trainer/app/bench/bench_update",
              "trainer/run/model", "cmake/", "tests/"),
    "nccl.h": ("policy/ranks/nccl.cc",),
    "mpi.h": ("policy/ranks/mpi.cc",),
    "seccomp.h": ("env/box/",),
    "sentencepiece": ("policy/text/",),
    "pcre2.h": ("policy/text/",),
    "protozero/": ("policy/text/", "trainer/run/event_file", "trainer/app/report/timeline"),
    "CLI/": ("trainer/app/",),
}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
FILTER = re.compile(r"\blist\s*\(\s*FILTER\b", re.IGNORECASE)
# How paths begin → the namespace there.
NAMESPACES = {
    "base/": "temper",
    "env/": "temper::env",
    "policy/": "temper::policy",
    "ranks/": "temper::policy",
    "rollout/traces/": "temper::traces",
    "rollout/": "temper::rollout",
    "trainer/": "temper::trainer",
    "cuda_on_cpu/": "temper::cuda_on_cpu",
}
FORWARD = re.compile(r"(\s*(class|struct|enum class)\s+\w+[^;{}]*;)*\s*")
SUFFIXES = {".h", ".cc", ".cu", ".cuh"}


def vendor(header):
    if TORCH.match(header):
        return "torch"
    return next((name for name in HOMES if name != "torch" and header.startswith(name)), None)


def room_of(path):
    """The innermost room of a file or header; base is one."""
    parts = path.split("/")[:-1]
    while parts:
        room = "/".join(parts)
        if room in ROOMS or room == "base":
            return room
        parts.pop()
    return None


def may_include(room, target):
    if target in (room, "base"):
        return True
    if room in WHOLE:
        return target.split("/")[0] in WHOLE[room]
    return target in ROOMS[room].split() if room in ROOMS else False


def check_includes(relative, headers):
    folder = relative.split("/")[0]
    room = room_of(relative)
    if folder in FOLDERS and not room:
        yield f"{relative}: lies in no room of tools/check_layers.py"
        return
    for header in headers:
        target = room_of(header)
        if folder in FOLDERS and header.split("/")[0] in FOLDERS and "/" in header and not (target and may_include(room, target)):
            yield f"{relative}: includes {header}, but {room} may only see base {ROOMS.get(room, '')}".rstrip()
        name = vendor(header)
        if name and not relative.startswith(HOMES[name]):
            yield f"{relative}: includes {header}, which belongs in {', '.join(HOMES[name])}"


def circles(graph):
    """The sets of modules that reach each other, by Tarjan's algorithm, without recursion."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []
    for root in graph:
        work = [] if root in index else [(root, iter(sorted(graph[root])))]
        if work:
            index[root] = low[root] = len(index)
            stack.append(root)
            on_stack.add(root)
        while work:
            node, others = work[-1]
            for other in others:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(sorted(graph[other]))))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    found.append(sorted(stack[at:]))
                    on_stack.difference_update(stack[at:])
                    del stack[at:]
    return found


def check_circles(includes):
    graph = collections.defaultdict(set)
    for relative, headers in includes.items():
        if relative.split("/")[0] not in FOLDERS:
            continue
        module = relative.rsplit(".", 1)[0]
        graph[module] |= {h.rsplit(".", 1)[0] for h in headers if h in includes} - {module}
    graph = {module: {other for other in others if other in graph} for module, others in graph.items()}
    for circle in circles(graph):
        if len(circle) > MOST_IN_CIRCLE:
            yield f"{len(circle)} modules include each other, at most {MOST_IN_CIRCLE} may: {', '.join(circle)}"


# What may hide braces and semicolons: comments, raw strings, strings, characters. A ' within a number separates digits.
QUIET = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'|^\s*#[^\n]*',
    re.DOTALL | re.MULTILINE,
)
NAMESPACE = re.compile(r"\bnamespace(?:\s+([\w:]+))?\s*$")
TYPE = re.compile(
    r"\b(?:struct|class|union|enum(?:\s+class|\s+struct)?)\s+(?:(?:alignas|__align__)\([^)]*\)\s*)?"
    r"(\w+)\s*(?:final\s*)?(?::[^:].*)?$",
    re.DOTALL,
)
ALIAS = re.compile(r"^\s*(?:template\s*<.*>\s*)?using\s+(\w+)\s*=", re.DOTALL)


def types_of(text):
    """Qualified names of the types that a source defines directly in a namespace with a name, aliases included."""
    scopes, begin = [], 0  # names of the enclosing namespaces; None for a namespace without a name or another brace
    text = QUIET.sub("", text)
    for mark in re.finditer(r"[{};]", text):
        head, begin = text[begin : mark.start()], mark.end()
        named = None not in scopes
        if mark.group() == "}":
            del scopes[-1:]
            continue
        found = (TYPE if mark.group() == "{" else ALIAS).search(head)
        if named and found:
            yield "::".join([*scopes, found.group(1)])
        if mark.group() == "{":
            opened = NAMESPACE.search(head)
            scopes.append(opened.group(1) if opened else None)


def doubled_types(root, files):
    """A program that links both of two types with one name is undefined, and no linker says so."""
    gallery = root / "tests" / "gallery"  # each exhibit there is a program of its own
    homes = collections.defaultdict(set)
    for path in files:
        if gallery not in path.parents:
            for name in types_of(path.read_text(encoding="utf-8", errors="replace")):
                homes[name].add(path.relative_to(root).as_posix())
    for name, places in sorted(homes.items()):
        if len(places) > 1:
            yield f"{name} is defined more than once: {', '.join(sorted(places))}"


def namespace_of(relative):
    """The namespace of a file's folder, for a test that of the folder it mirrors."""
    folder = relative.removeprefix("tests/")
    return next((name for start, name in NAMESPACES.items() if folder.startswith(start)), None)


def check_namespaces(relative, text):
    """A file opens its folder's namespace, or one within; another's for forward declarations alone. None is taken as a whole."""
    own, text = namespace_of(relative), QUIET.sub("", text)
    if relative.startswith(DATA) or not own:
        return
    for name, body in re.findall(r"^namespace (temper\b[\w:]*) \{([^{}]*)", text, re.MULTILINE):
        within = name == own or (own != "temper" and name.startswith(own + "::"))
        if not within and not FORWARD.fullmatch(body):
            yield f"{relative}: opens {name}, but the namespace of its folder is {own}"
    for name in re.findall(r"^using namespace (temper\b[\w:]*);", text, re.MULTILINE):
        if name != own or relative.endswith((".h", ".cuh")):
            yield f"{relative}: takes the whole of {name}; only a source of that folder may"


def check_folders(root):
    for top in (*FOLDERS, "tests", "tools", "cmake"):
        for folder in (root / top, *(p for p in sorted((root / top).rglob("*")) if p.is_dir())):
            relative = folder.relative_to(root).as_posix()
            if relative.startswith(DATA) or "__pycache__" in relative:
                continue
            count = sum(p.is_file() for p in folder.iterdir())
            if count > MOST_FILES:
                yield f"{relative}/: {count} files; at most {MOST_FILES}"
        for path in (*(root / top).rglob("CMakeLists.txt"), *(root / top).rglob("*.cmake")):
            if FILTER.search(path.read_text(encoding="utf-8")):
                yield f"{path.relative_to(root).as_posix()}: filters a list of sources by a pattern; name the files or make a room"
    base_files = len([p for p in (root / "base").iterdir() if p.suffix in SUFFIXES])
    if base_files > 10:
        yield f"base/: {base_files} files; at most ten"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    files = [p for name in (*FOLDERS, "tests") for p in sorted((root / name).rglob("*")) if p.suffix in SUFFIXES]
    if not files:
        sys.exit(f"{root}: no sources found")
    texts = {p.relative_to(root).as_posix(): p.read_text(encoding="utf-8", errors="replace") for p in files}
    includes = {relative: INCLUDE.findall(text) for relative, text in texts.items()}
    problems = [problem for relative, headers in includes.items() for problem in check_includes(relative, headers)]
    problems += [problem for relative, text in texts.items() for problem in check_namespaces(relative, text)]
    problems += [*check_circles(includes), *check_folders(root), *doubled_types(root, files)]
    print("\n".join(problems) or f"{len(files)} files, no wrong arrow")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
