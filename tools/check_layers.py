#!/usr/bin/env python3
"""Fails on an include that goes against the folders' arrows, or on a vendor header outside its one home.

trainer → rollout → {policy, env} → base; policy and env never meet.
"""

import pathlib
import re
import sys

ALLOWED = {
    "base": {"base"},
    "env": {"env", "base"},
    "policy": {"policy", "base"},
    "rollout": {"rollout", "policy", "env", "base"},
    "trainer": {"trainer", "rollout", "policy", "env", "base"},
}
TORCH = re.compile(r"^(ATen|torch|c10|caffe2)/")
# Header → files that may include it, as path prefixes.
HOMES = {
    "torch": ("policy/", "env/oracle/", "trainer/optimizer", "trainer/learner", "trainer/model", "cmake/", "tests/"),
    "nccl.h": ("policy/ranks/nccl.cc",),
    "mpi.h": ("policy/ranks/mpi.cc",),
    "seccomp.h": ("env/box/",),
    "sentencepiece": ("policy/tokenizer", "policy/text/"),
    "pcre2.h": ("policy/text/",),
    "protozero/": ("policy/tokenizer_train", "policy/text/", "trainer/event_file", "trainer/app/report/timeline"),
    "CLI/": ("trainer/app/main.cc", "trainer/app/commands/"),
}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
SUFFIXES = {".h", ".cc", ".cu", ".cuh"}


def vendor(header):
    if TORCH.match(header):
        return "torch"
    return next((name for name in HOMES if name != "torch" and header.startswith(name)), None)


def check_file(root, path):
    relative = path.relative_to(root).as_posix()
    folder = relative.split("/")[0]
    for header in INCLUDE.findall(path.read_text(encoding="utf-8", errors="replace")):
        target = header.split("/")[0]
        if folder in ALLOWED and target in ALLOWED and "/" in header and target not in ALLOWED[folder]:
            yield f"{relative}: includes {header}, but {folder} may only see {', '.join(sorted(ALLOWED[folder]))}"
        name = vendor(header)
        if name and not relative.startswith(HOMES[name]):
            yield f"{relative}: includes {header}, which belongs in {', '.join(HOMES[name])}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    folders = [root / name for name in (*ALLOWED, "tests")]
    files = [p for f in folders for p in sorted(f.rglob("*")) if p.suffix in SUFFIXES]
    if not files:
        sys.exit(f"{root}: no sources found")
    problems = [problem for path in files for problem in check_file(root, path)]
    base_files = len([p for p in (root / "base").iterdir() if p.suffix in SUFFIXES])
    if base_files > 10:
        problems.append(f"base/: {base_files} files; at most ten")
    print("\n".join(problems) or f"{len(files)} files, no wrong arrow")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
