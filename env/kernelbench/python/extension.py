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

INLINE, FILES = inspect.signature(torch_extension.load_inline), inspect.signature(torch_extension.load)
IMPLICIT = {"cpp": ["#include <torch/extension.h>"], "cuda": ["#include <torch/types.h>", "#include <cuda.h>", "#include <cuda_runtime.h>"]}
# Flags that change what is computed, not where from or for which machine. --use_fast_math does not change what is right.
ALLOWED = re.compile(r"-(D\w+(=[\w.+-]*)?|U\w+|O[0-3sg]|Ofast|std=(c|gnu)\+\+\d\d|-std=c\+\+\d\d|-?use_fast_math|-?lineinfo|w|W[\w=-]*|"
                     r"ffast-math|funroll-loops|fPIC|-expt-relaxed-constexpr|-expt-extended-lambda|-extended-lambda|-maxrregcount=\d+|"
                     r"maxrregcount=\d+|Xptxas(=[\w=,-]+)?|-ptxas-options=[\w=,-]+|-?ftz=\w+|-?prec-div=\w+|-?prec-sqrt=\w+|-?fmad=\w+|"
                     r"-generate-line-info|dlcm=\w+)")
# Which machine it is for is known.
OF_THE_MACHINE = re.compile(r"--?(gencode|arch|gpu-architecture|generate-code)([= ].*)?|arch=.*|compute_\w+|sm_\w+")
LIBRARIES = {"-lcuda", "-lcudart", "-lcublas", "-lcublasLt"}


class Refused(Exception):
    """The candidate asks for what it may not have."""


class Undefined(ImportError):
    """A library calls what none of its sources define, which shows when it is loaded."""


def allowed_flags(flags):
    kept = []
    for flag in (one for text in flags or () for one in str(text).split()):
        if OF_THE_MACHINE.fullmatch(flag):
            continue
        if not ALLOWED.fullmatch(flag):
            raise Refused(f"the flag {flag} may not be given to the compiler; -D, -O, -std, --use_fast_math and -lineinfo may")
        kept.append(flag)
    return kept


def allowed_libraries(flags):
    for flag in flags or ():
        if flag not in LIBRARIES:
            raise Refused(f"{flag} may not be given to the linker; {', '.join(sorted(LIBRARIES))} may")
    return list(flags or ())


def listed(sources):
    return [sources] if isinstance(sources, str) else list(sources or ())


def text_of(value):
    """What a candidate gives as a name or a source. Subclasses of str have no say in what they are."""
    return str.__str__(value) if isinstance(value, str) else str(value)


class Recipe:
    """Sources by file name, in the order of compilation."""

    def __init__(self, name, sources, cxx_flags, cuda_flags, libraries):
        if not re.fullmatch(r"[A-Za-z_]\w{0,80}", name):
            raise Refused(f"an extension cannot be called {name[:80]!r}; take a plain name")
        self.name, self.sources = name, sources
        self.cxx_flags, self.cuda_flags, self.libraries = cxx_flags, cuda_flags, libraries

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
    if told.get("extra_include_paths") or told.get("sycl_sources"):
        raise Refused("extensions have no include paths of their own, and no SYCL; write all of it in the sources")
    bare = bool(told.get("no_implicit_headers"))
    sources = {"main.cpp": whole("cpp", listed(told["cpp_sources"]), bare,
                                 bindings(told["functions"], told.get("with_pytorch_error_handling", True)))}
    if cuda := listed(told["cuda_sources"]):
        sources["cuda.cu"] = whole("cuda", cuda, bare)
    return Recipe(text_of(told["name"]), sources, allowed_flags(told["extra_cflags"]), allowed_flags(told["extra_cuda_cflags"]),
                  allowed_libraries(told["extra_ldflags"]))


def files_recipe(*arguments, **named):
    given = FILES.bind(*arguments, **named)
    given.apply_defaults()
    told, sources = given.arguments, {}
    if told.get("extra_include_paths"):
        raise Refused("extensions have no include paths of their own; write all of it in the sources")
    for number, path in enumerate(listed(told["sources"])):
        ending = os.path.splitext(path)[1]
        if ending not in (".cpp", ".cc", ".cu"):
            raise Refused(f"a source that ends with {ending} cannot be compiled; .cpp and .cu can")
        with open(path) as file:
            sources[f"{number}{'.cu' if ending == '.cu' else '.cpp'}"] = file.read()
    return Recipe(text_of(told["name"]), sources, allowed_flags(told["extra_cflags"]), allowed_flags(told["extra_cuda_cflags"]),
                  allowed_libraries(told["extra_ldflags"]))


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


def install_built(built):
    """`built`: key → path of a library."""
    def found(build, arguments, named):
        recipe = build(*arguments, **named)
        if recipe.key not in built:
            raise RuntimeError(f"the extension {recipe.name} was not compiled beforehand: call load_inline when the file is imported or "
                               f"ModelNew is made, with the same sources each time")
        return load_library(recipe.name, built[recipe.key])
    install(found)
