"""Which modules a candidate may import. The box keeps it from doing harm; this list says early what could not work anyway."""
import ast

from refusal import line_of, policy_refusal

ALLOWED = frozenset("""__future__ abc bisect cmath collections contextlib copy dataclasses enum fractions functools heapq itertools logging math
numbers operator re statistics string struct textwrap torch triton types typing typing_extensions warnings""".split())


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
