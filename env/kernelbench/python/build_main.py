#!/usr/bin/env python3
"""Compiles the extensions of one candidate of Tier 1 where there is no GPU. Used for one source.

Over the stream socket at descriptor 3 go frames. The first says {"status": "ready", "lacks": …}: what the machine lacks for extensions, or
nothing. The request has "source", "problem", "precision", "backend" and "architecture", such as "90a". Before anything of the source runs,
{"status": "read", "refused": true} says that it imports what it may not. It is built all the same: KernelBench would. The answer has
"extensions", a "key" each, and one frame of bytes follows for each of them; or it is {"status": "failed", "stage": "compile", "compiler":
true, "error", "message", "traceback"}. What else is wrong with the source is found out where it runs: the import here only shows what it
would build.

    build_main.py --build CANDIDATE.py --problem PROBLEM.py [--into FOLDER]
"""
import argparse
import json
import os
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
for folder in (os.path.join(HERE, "../../plan/triton"), HERE):  # one folder where they are part of the program
    if folder not in sys.path and os.path.isdir(folder):
        sys.path.insert(0, folder)

CHANNEL = 3
MAX_EXTENSIONS = 16  # env/kernelbench/module_candidate.h
ARCHITECTURE = "90a"


class Stub:
    """Stands for a module that is not compiled yet."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: None


def collect(request, folder):
    """What the source would build, by key. Errors: extension.Refused."""
    import torch

    import extension
    import module_new
    request = {**request, "gated": False}
    recipes, refused = {}, []

    def found(build, arguments, named):
        try:
            recipe = build(*arguments, **named)
        except extension.Refused as error:
            refused.append(error)
            raise
        recipes[recipe.key] = recipe
        return Stub()

    extension.install(found)
    torch.cuda.is_available, torch.cuda.get_device_capability = lambda: True, lambda *_: (9, 0)
    try:
        module = module_new.ModuleNew(request, "cpu", folder)
        made = module.load()
        if not recipes and not refused:
            with torch.device("meta"):  # what is built where ModelNew is made
                made(*module.problem.module.get_init_inputs())
    except BaseException:
        pass
    if refused:
        raise refused[0]
    return list(recipes.values())[:MAX_EXTENSIONS]


def is_refused(source):
    """Whether it is known without running it that it imports what it may not."""
    from imports import refusal_in
    return refusal_in(source) is not None


def failure(error, message, details=""):
    return {"status": "failed", "stage": "compile", "compiler": True, "error": error, "message": message, "traceback": details}


def compilers_words(text, folder):
    """(one line, all lines) of what compilers print, without this machine's paths."""
    import refusal
    text = refusal.without_paths(text, folder)
    lines = [line for line in text.splitlines() if "error" in line.lower()]
    return refusal.one_line(lines[0] if lines else text), refusal.shortened(text, refusal.MAX_DETAILS)


def build_all(request, folder):
    """(answer, libraries)"""
    import compiling
    import extension
    start, libraries, keys = time.perf_counter(), [], []
    try:
        for number, recipe in enumerate(collect(request, folder)):
            own = os.path.join(folder, f"build{number}")
            os.makedirs(own)
            libraries.append(compiling.Compiler(own, request.get("architecture", ARCHITECTURE)).build(recipe))
            keys.append({"key": recipe.key})
    except extension.Refused as error:
        return failure("Refused", str(error)), []
    except compiling.CompileError as error:
        message, details = compilers_words(str(error), folder)
        return failure("CompileError", " (and ".join([message, *(f"{one})" for one in recipe.refused[:1])]), details), []
    except compiling.subprocess.TimeoutExpired:
        return failure("TimeoutExpired", f"compiling takes more than {compiling.LATEST_S} s"), []
    return {"status": "ok", "extensions": keys, "compile_ms": (time.perf_counter() - start) * 1e3}, libraries


def serve():
    from candidate_main import own_folder
    from channel import Channel
    from frames import frame
    from lock_up import lock_up
    channel = Channel(CHANNEL)
    try:
        folder = own_folder()
        import torch.utils.cpp_extension  # noqa: F401

        import compiling
        import module_new  # noqa: F401
        torch.set_num_threads(1)
        lacks = compiling.lacking(cuda=True)
        lock_up(folder)
        os.chdir(folder)
    except Exception as error:
        channel.send({"status": "failed", "stage": "start", "error": type(error).__name__, "message": f"{type(error).__name__}: {error}"})
        return
    channel.send({"status": "ready", "lacks": lacks})
    if (request := channel.receive()) is None:
        return
    channel.send({"status": "read", "refused": is_refused(request["source"])})
    try:
        answer, libraries = build_all(request, folder)
    except OSError as error:
        answer, libraries = {"status": "infra", "message": str(error)}, []
    channel.send(answer)
    for one in libraries:
        channel.socket.sendall(frame(one))


def main():
    options = argparse.ArgumentParser(description="compiles a candidate's extensions; without options, those that come over descriptor 3")
    options.add_argument("--build", metavar="CANDIDATE")
    options.add_argument("--problem", metavar="PROBLEM")
    options.add_argument("--into", metavar="FOLDER", help="where the libraries go, each called by its key")
    told = options.parse_args()
    if not told.build:
        serve()
        return
    with open(told.build) as source, open(told.problem) as problem:
        request = {"source": source.read(), "problem": problem.read(), "precision": "fp32"}
    with tempfile.TemporaryDirectory() as folder:
        answer, libraries = build_all(request, folder)
    for one, library in zip(answer.get("extensions", []), libraries):
        one["file"] = os.path.join(told.into or ".", one["key"] + ".so")
        with open(one["file"], "wb") as file:
            file.write(library)
    print(json.dumps({**answer, "refused": is_refused(request["source"])}))


if __name__ == "__main__":
    main()
