#!/usr/bin/env python3
"""Compiles one source of an extension, links one, or precompiles torch's headers. Used for one request. No Python of a candidate runs here:
what comes is data for the compilers, so that what they make may serve other candidates that have the same.

Over the stream socket at descriptor 3 go frames. The first says {"status": "ready"}. The request has "tools" as build_main.py tells them, and
    "op": "object", "unit", "architecture", "headers" (a folder with precompiled ones, or nothing), "refused" (of a flag, or nothing)
    "op": "link", "objects" (files in the folder for temporary ones), "libraries", "cuda", "refused"
    "op": "precompile", "flags"
The answer says in how many "parts" each file comes, one frame of bytes each; or it is a failure as build_main.py tells one.
"""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
for folder in (os.path.join(HERE, "../../plan/triton"), os.path.join(HERE, "../python"), os.path.join(HERE, "../drawing"), HERE):  # one folder where they are part of the program
    if folder not in sys.path and os.path.isdir(folder):
        sys.path.insert(0, folder)

import compiling  # noqa: E402
import refusal  # noqa: E402

CHANNEL = 3
PART_BYTES = 32 << 20
FILE = re.compile(r"\w+\.(cpp|cu)")


def failure(error, message, details=""):
    return {"status": "failed", "stage": "compile", "compiler": True, "error": error, "message": message, "traceback": details}


def compilers_words(text, folder):
    """(one line, all lines) of what compilers print, without this machine's paths."""
    text = refusal.without_paths(text, folder)
    lines = [line for line in text.splitlines() if "error" in line.lower()]
    return refusal.one_line(lines[0] if lines else text), refusal.shortened(text, refusal.MAX_DETAILS)


def failure_of(error, folder, refused=""):
    """`refused`: why a flag was left out, which may be the reason."""
    if isinstance(error, subprocess.TimeoutExpired):
        return failure("TimeoutExpired", f"compiling takes more than {compiling.LATEST_S} s")
    if isinstance(error, compiling.CompileError):
        message, details = compilers_words(str(error), folder)
        return failure("CompileError", f"{message} (and {refused})" if refused else message, details)
    return {"status": "infra", "message": str(error)}


def made(request, folder):
    """The files that are asked for."""
    compiler = compiling.Compiler(folder, request["tools"], request.get("architecture", ""), request.get("headers"))
    if request["op"] == "precompile":
        return compiler.precompile(request["flags"])
    if request["op"] == "link":
        return [compiler.link(request["objects"], request["libraries"], request["cuda"])]
    if not FILE.fullmatch(request["unit"]["file"]):
        raise compiling.CompileError(f"error: a source cannot be called {request['unit']['file']!r}")
    return [compiler.compile(request["unit"])]


def parts_of(path):
    with open(path, "rb") as file:
        while part := file.read(PART_BYTES):
            yield part


def main():
    from candidate_main import own_folder
    from channel import Channel
    from frames import frame
    from lock_up import lock_up
    channel = Channel(CHANNEL)
    try:
        folder = own_folder()
        lock_up(folder)
        os.chdir(folder)
    except Exception as error:
        channel.send({"status": "failed", "stage": "start", "error": type(error).__name__, "message": f"{type(error).__name__}: {error}"})
        return
    channel.send({"status": "ready"})
    if (request := channel.receive()) is None:
        return
    try:
        files = made(request, folder)
    except Exception as error:
        channel.send(failure_of(error, folder, request.get("refused", "")))
        return
    channel.send({"status": "ok", "parts": [-(-os.path.getsize(one) // PART_BYTES) for one in files]})
    for part in (part for one in files for part in parts_of(one)):
        channel.socket.sendall(frame(part))


if __name__ == "__main__":
    main()
