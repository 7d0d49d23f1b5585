"""Which modules a candidate in Python may import. The box keeps it from doing harm; the list says early what could not work anyway, and keeps
from modules of PyTorch what Python tells of the process that runs them."""
import ast
import builtins
import importlib
import sys

from refusal import Refusal, line_of, policy_refusal, show_lines

ALLOWED = frozenset("""__future__ abc bisect cmath collections contextlib copy dataclasses enum fractions functools heapq itertools logging math
numbers operator re statistics string struct textwrap torch triton types typing typing_extensions warnings""".split())
# Those run beside a GPU, compile extensions from files, and may have models of Hugging Face for their problem.
ALLOWED_TO_MODULES = ALLOWED | frozenset("""array base64 datetime decimal einops hashlib io json numpy os pathlib random tempfile time transformers
zlib""".split())
TO_MODULES = "torch, triton, numpy and plain Python: math, functools, typing, os, …"

# Modules that others have as attributes, also by names of their own, and names that lead from one function to all others.
WITHIN = frozenset("_sys _thread bltns builtins ctypes gc importlib inspect multiprocessing subprocess sys threading".split())
OWN = frozenset(("self", "cls"))  # whose attributes may be called as they like
INNER = frozenset("""__builtins__ __globals__ __import__ __loader__ __spec__ __subclasses__ _current_frames _getframe ag_frame cr_frame f_back
f_builtins f_globals f_locals gi_frame tb_frame""".split())


def imported(tree):
    """(module, line) of each import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((name.name, node.lineno) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield ("." * node.level + (node.module or ""), node.lineno)


def check_imports(tree, path):
    for module, line in imported(tree):
        if module.split(".")[0] not in ALLOWED:
            raise policy_refusal("import", f"{module} may not be imported ({line_of(path, line)}); use torch, triton and plain Python: math, "
                                 "functools, typing, …")


def may_import(module):
    """Whether a module of PyTorch may."""
    first, *rest = module.split(".")
    return first in ALLOWED_TO_MODULES and not WITHIN.intersection(rest)


def root_of(node):
    """The name at which a chain of attributes begins, or None."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def reached(tree):
    """(name, line) of what a module of PyTorch may not reach by other ways than an import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((name.name, node.lineno) for name in node.names if name.name in WITHIN | INNER)
        elif isinstance(node, ast.Name) and node.id in INNER:
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and (node.attr in INNER or node.attr in WITHIN and root_of(node) not in OWN):
            yield node.attr, node.lineno


def check_module(tree, path):
    """Of a module of PyTorch, before it is imported."""
    for module, line in imported(tree):
        if not may_import(module):
            raise policy_refusal("import", f"{module} may not be imported ({line_of(path, line)}); use {TO_MODULES}")
    for name, line in reached(tree):
        raise policy_refusal("import", f"{name} may not be used ({line_of(path, line)}); use {TO_MODULES}")


def refusal_in(source, path=""):
    """The refusal of a module of PyTorch that is known without running it, or None. What is no Python is found out where it runs."""
    try:
        show_lines(source, path)
        check_module(ast.parse(source), path)
    except Refusal as refused:
        return refused
    except Exception:
        pass
    return None


class ImportGuard:
    """Holds a module of PyTorch to the list while it runs. What others import, as torch does for it, is theirs."""

    def __init__(self, names):
        """`names`: of the module, whose functions get the guarded builtins."""
        self.names, self.refused = names, None
        names["__builtins__"] = {**vars(builtins), "__import__": self.guarded(builtins.__import__)}
        importlib.import_module = self.guarded_for_it(importlib.import_module)
        importlib.__import__ = self.guarded_for_it(importlib.__import__)

    def refuse(self, name):
        self.refused = self.refused or policy_refusal("import", f"{name} may not be imported; use {TO_MODULES}")
        raise self.refused

    def guarded(self, import_):
        def guard(name, *given, **more):
            if not may_import(name):
                self.refuse(name)
            return import_(name, *given, **more)
        return guard

    def guarded_for_it(self, import_):
        def guard(name, *given, **more):
            if sys._getframe(1).f_globals is self.names and not may_import(name):
                self.refuse(name)
            return import_(name, *given, **more)
        return guard
