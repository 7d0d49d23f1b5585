"""What one call runs on the GPU, and whose each kernel is: the candidate's own, torch's, or a vendor library's.

A kernel is the candidate's where its name is that of a Triton function of this process or of a kernel in a library that was compiled for
it. Names can be chosen, so one that is called as torch's and vendors' are is refused. What cannot be told is a vendor's: it earns nothing.
"""
import collections
import ctypes
import gc
import re

import torch

import cupti

MOST = 64
STUB = re.compile(rb"\x00_ZL?(\d{1,4})(__device_stub_\w+)(?=\x00)")
OF_VENDORS = re.compile(r"^(sm\d+_|ampere_|volta_|turing_|hopper_|nvjet|cudnn|cublas|cutlass|implicit_con|nccl|gemmSN|gemmk1|gemv2|gemvN|"
                        r"splitK)|xmma_")
OF_TORCH = re.compile(r"at::native|at::cuda|at_cuda_detail|c10::|^triton_(poi|red|per|tem|for|unk|mm)_|^at::")


def demangled(name):
    """As compilers' tools print it, or the same where it is no mangled name."""
    library = ctypes.CDLL("libstdc++.so.6")
    function = library.__cxa_demangle
    function.restype, function.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
    status = ctypes.c_int()
    made = function(name.encode(), None, None, ctypes.byref(status))
    return ctypes.string_at(made).decode() if made and status.value == 0 else name


def base_name(name):
    """Without return type, template arguments and parameters."""
    text, depth, plain = name.replace("(anonymous namespace)", "anonymous"), 0, []
    for letter in text:
        depth += letter == "<"
        if depth == 0:
            if letter == "(":
                break
            plain.append(letter)
        depth -= letter == ">"
    return "".join(plain).split()[-1] if "".join(plain).split() else name


def kernels_in(path):
    """Names of the kernels that a library has: of the functions with which the compiler launches them."""
    with open(path, "rb") as file:
        data = file.read()
    names = set()
    for length, stub in STUB.findall(data):
        name = demangled(stub[:int(length)].decode()[len("__device_stub_"):])
        names.add(name)
        if b"\0" + base_name(name).encode() + b"\0" in data:
            names.add(base_name(name))  # its name in C
    return names


def triton_names():
    """Of the functions that Triton may compile in this process."""
    try:
        from triton.runtime.jit import JITFunction
    except ImportError:
        return set()
    gc.unfreeze()  # what is frozen is not listed
    return {one.fn.__name__ for one in gc.get_objects() if isinstance(one, JITFunction)}


def origin_of(name, own):
    if name.startswith("Memcpy") or name.startswith("Memset"):
        return "copy" if name.startswith("Memcpy") else "memset"
    if OF_TORCH.search(name):
        return "torch"
    if name in own:
        return "candidate"
    return "vendor"


def called_like_others(own):
    """Own names that torch's or a vendor's kernels could have. torch.compile's own are torch's."""
    return sorted(name for name in own if OF_VENDORS.search(name) or OF_TORCH.search(base_name(name)) and not name.startswith("triton_"))


def device_events(run, inputs):
    """(name, microseconds) of each kernel, copy and memset of one call."""
    def once():
        run(inputs)
        torch.cuda.synchronize()

    with torch.no_grad():
        once()
        return [(demangled(name), us) for name, us in cupti.Recorder().record(once)]


def profile(run, inputs, exchange, libraries=()):
    """The answer to "profile": the kernels of one call, the longest first."""
    if exchange.device != "cuda":
        return {"status": "ok", "kernels": []}
    own = triton_names().union(*(kernels_in(path) for path in libraries))
    if names := called_like_others(own):
        return {"status": "failed", "stage": "profile", "error": "kernel_name", "traceback": "",
                "message": f"a kernel of the candidate is called {names[0]}, as torch's or a vendor's are; call it otherwise"}
    found = collections.defaultdict(lambda: [0, 0.0])
    for name, us in device_events(run, inputs):
        found[name][0] += 1
        found[name][1] += us
    longest = sorted(found.items(), key=lambda one: -one[1][1])[:MOST]
    return {"status": "ok", "kernels": [{"name": name[:200], "us": us, "launches": count, "origin": origin_of(name, own)}
                                        for name, (count, us) in longest]}
