"""What a candidate asks torch.utils.cpp_extension to build, as data: sources, flags, and a key made of them. A process without a GPU builds
it (build_main.py), and the candidate's process finds the library by the key."""
import hashlib
import importlib.machinery
import importlib.util
import inspect
import json
import os
import re

import torch.utils.cpp_extension as torch_extension

import flags

INLINE, FILES = inspect.signature(torch_extension.load_inline), inspect.signature(torch_extension.load)
LISTS = (("extra_cflags", "host"), ("extra_cuda_cflags", "cuda"), ("extra_ldflags", "linker"))
IMPLICIT = {"cpp": ["#include <torch/extension.h>"], "cuda": ["#include <torch/types.h>", "#include <cuda.h>", "#include <cuda_runtime.h>"]}


class Refused(Exception):
    """The candidate asks for what it may not have."""


class Undefined(ImportError):
    """A library calls what none of its sources define, which shows when it is loaded."""


def listed(sources):
    return [sources] if isinstance(sources, str) else list(sources or ())


def text_of(value):
    """What a candidate gives as a name or a source. Subclasses of str have no say in what they are."""
    return str.__str__(value) if isinstance(value, str) else str(value)


class Recipe:
    """Sources by file name, in the order of compilation. `refused` says of each flag that is left out why, and is not part of the key."""

    def __init__(self, told, sources):
        """`told`: the arguments of torch's builder."""
        name = text_of(told["name"])
        if not re.fullmatch(r"[A-Za-z_]\w{0,80}", name):
            raise Refused(f"an extension cannot be called {name[:80]!r}; take a plain name")
        self.name, self.sources, self.refused = name, sources, []
        lists = [flags.Flags(told[one], compiler) for one, compiler in LISTS]
        self.cxx_flags, self.cuda_flags, _ = (one.kept for one in lists)
        self.libraries = lists[-1].libraries
        for one in lists:
            self.refused += [flags.words_of(flag, one.compiler) for flag in one.refused]
        for path in flags.refused_folders(told.get("extra_include_paths")):
            self.refused.append(f"extensions have no include paths of their own, as {path}; write all of it in the sources")

    @property
    def key(self):
        parts = [self.name, self.sources, self.cxx_flags, self.cuda_flags, self.libraries]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def bindings(functions, checked):
    """The text that torch adds for the functions that Python shall see."""
    if functions is None:
        return []
    functions = [functions] if isinstance(functions, str) else functions
    if not isinstance(functions, dict):
        functions = {one: one for one in functions}
    lines = ["PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {"]
    for name, words in functions.items():
        target = f"torch::wrap_pybind_function({name})" if checked else name
        lines.append(f'm.def("{name}", {target}, "{words}");')
    return [*lines, "}"]


def whole(kind, pieces, bare, tail=()):
    """One file of the pieces. Lines are counted as the candidate counts them in its text."""
    head = [] if bare else IMPLICIT[kind]
    return "\n".join([*head, f'#line 1 "{kind}_sources"', *map(text_of, pieces), *tail]) + "\n"


def inline_recipe(*arguments, **named):
    given = INLINE.bind(*arguments, **named)
    given.apply_defaults()
    told = given.arguments
    if listed(told.get("sycl_sources")):
        raise Refused("extensions have no SYCL; write all of it in C++ and CUDA")
    bare = bool(told.get("no_implicit_headers"))
    sources = {"main.cpp": whole("cpp", listed(told["cpp_sources"]), bare,
                                 bindings(told["functions"], told.get("with_pytorch_error_handling", True)))}
    if cuda := listed(told["cuda_sources"]):
        sources["cuda.cu"] = whole("cuda", cuda, bare)
    return Recipe(told, sources)


def files_recipe(*arguments, **named):
    given = FILES.bind(*arguments, **named)
    given.apply_defaults()
    told, sources = given.arguments, {}
    for number, path in enumerate(listed(told["sources"])):
        ending = os.path.splitext(path)[1]
        if ending not in (".cpp", ".cc", ".cu"):
            raise Refused(f"a source that ends with {ending} cannot be compiled; .cpp and .cu can")
        with open(path) as file:
            sources[f"{number}{'.cu' if ending == '.cu' else '.cpp'}"] = file.read()
    return Recipe(told, sources)


def install(found):
    """`found(build, arguments, named)` takes the place of torch's builder, and gives the module. `build` makes a recipe of the others."""
    torch_extension.load_inline = lambda *arguments, **named: found(inline_recipe, arguments, named)
    torch_extension.load = lambda *arguments, **named: found(files_recipe, arguments, named)


def load_library(name, path):
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    specification = importlib.util.spec_from_loader(name, loader, origin=path)
    try:
        module = importlib.util.module_from_spec(specification)
        loader.exec_module(module)
    except ImportError as error:
        if missing := re.search(r"undefined symbol: (\w+)", str(error)):
            raise Undefined(f"none of the sources of {name} defines {missing[1]}, which they call") from None
        raise
    return module


def install_built(built, refuse=None):
    """`built`: key → path of a library. `refuse` is told of the first flag that an extension may not have, and need not return."""
    def found(build, arguments, named):
        recipe = build(*arguments, **named)
        if recipe.refused and refuse is not None:
            refuse(recipe.refused[0])
        if recipe.key not in built:
            raise RuntimeError(f"the extension {recipe.name} was not compiled beforehand: call load_inline when the file is imported or "
                               f"ModelNew is made, with the same sources each time")
        return load_library(recipe.name, built[recipe.key])
    install(found)
