#!/usr/bin/env python3
"""Finds out what extensions one candidate builds, where there is no GPU. Used for one source.

Over the stream socket at descriptor 3 go frames. The first says {"status": "ready", "tools", "lacks"}: with what extensions are compiled, and
what the machine lacks for them, or nothing. The request has "source", "problem", "precision" and "backend". Before anything of the source
runs, {"status": "read", "refused": true} says that it imports what it may not. What it builds is looked for all the same: KernelBench would.
The answer has "extensions": of each a "key", "units" and "libraries" for compile_main.py, and "refused", why a flag is left out, or nothing.
Or it is {"status": "failed", "stage": "compile", "compiler": true, "error", "message", "traceback"}. What else is wrong with the source is
found out where it runs: the import here only shows what it would build.

    build_main.py --build CANDIDATE.py --problem PROBLEM.py [--into FOLDER]    compiles them, too
"""
import argparse
import json
import os
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
for folder in (os.path.join(HERE, "../../plan/triton"), os.path.join(HERE, "../extensions"), os.path.join(HERE, "../drawing"), HERE):  # one folder where they are part of the program
    if folder not in sys.path and os.path.isdir(folder):
        sys.path.insert(0, folder)

import compile_main  # noqa: E402

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


def extensions_of(request, folder):
    """The answer."""
    import compiling
    import extension
    try:
        recipes = collect(request, folder)
    except extension.Refused as error:
        return compile_main.failure("Refused", str(error))
    return {"status": "ok", "extensions": [{"key": one.key, "units": compiling.units_of(one), "libraries": one.libraries,
                                            "refused": "".join(one.refused[:1])} for one in recipes]}


def build_all(request, folder):
    """(answer, libraries), in this process."""
    import compiling
    import extension
    start, libraries, keys, tools, refused = time.perf_counter(), [], [], compiling.find_tools(), ""
    try:
        for number, recipe in enumerate(collect(request, folder)):
            own, refused = os.path.join(folder, f"build{number}"), "".join(recipe.refused[:1])
            os.makedirs(own)
            libraries.append(compiling.Compiler(own, tools, request.get("architecture", ARCHITECTURE)).build(recipe))
            keys.append({"key": recipe.key})
    except extension.Refused as error:
        return compile_main.failure("Refused", str(error)), []
    except (compiling.CompileError, compiling.subprocess.TimeoutExpired) as error:
        return compile_main.failure_of(error, folder, refused), []
    return {"status": "ok", "extensions": keys, "compile_ms": (time.perf_counter() - start) * 1e3}, libraries


def serve():
    from candidate_main import own_folder
    from channel import Channel
    from lock_up import lock_up
    channel = Channel(CHANNEL)
    try:
        folder = own_folder()
        import torch

        import compiling
        import module_new  # noqa: F401
        torch.set_num_threads(1)
        tools = compiling.find_tools()
        lock_up(folder)
        os.chdir(folder)
    except Exception as error:
        channel.send({"status": "failed", "stage": "start", "error": type(error).__name__, "message": f"{type(error).__name__}: {error}"})
        return
    channel.send({"status": "ready", "tools": tools, "lacks": compiling.lacking(tools, cuda=True)})
    if (request := channel.receive()) is None:
        return
    channel.send({"status": "read", "refused": is_refused(request["source"])})
    channel.send(extensions_of(request, folder))


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
