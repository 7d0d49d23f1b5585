"""The GPU as candidates can ask about it: facts of the task's target, and torch.cuda without a driver."""
import contextlib
import types

import torch
from torch._subclasses import fake_tensor

from refusal import plan_refusal

REGISTERS, THREADS, WARP = 65536, 2048, 32  # of a multiprocessor, on every GPU from sm_80 to sm_90
RESERVED_SHARED_BYTES = 1024  # of each block, and what a multiprocessor has beyond the most of one block


def driver_properties(target):
    """As triton.runtime.driver.active.utils.get_device_properties has them."""
    return {"max_shared_mem": target["max_shared_bytes"], "max_num_regs": REGISTERS, "multiprocessor_count": target["multiprocessors"],
            "warpSize": WARP, "sm_clock_rate": target["clock_khz"], "mem_clock_rate": target["memory_clock_khz"],
            "mem_bus_width": target["bus_bits"]}


def torch_properties(target):
    """As torch.cuda.get_device_properties has them."""
    major, minor = divmod(target["architecture"], 10)
    return types.SimpleNamespace(
        name=target["name"], major=major, minor=minor, total_memory=target["memory_bytes"], multi_processor_count=target["multiprocessors"],
        L2_cache_size=target["l2_bytes"], warp_size=WARP, regs_per_multiprocessor=REGISTERS, max_threads_per_multi_processor=THREADS,
        shared_memory_per_block=48 << 10, shared_memory_per_block_optin=target["max_shared_bytes"],
        shared_memory_per_multiprocessor=target["max_shared_bytes"] + RESERVED_SHARED_BYTES, is_integrated=0, is_multi_gpu_board=0,
        clock_rate=target["clock_khz"], memory_clock_rate=target["memory_clock_khz"], memory_bus_width=target["bus_bits"])


def refusing(reason, message):
    """A class or function whose every use is refused."""
    class Refused:
        def __new__(cls, *args, **kwargs):
            raise plan_refusal(reason, message)
    return Refused


def stub_torch(target, memory_of_run):
    """Makes torch answer for the target. `memory_of_run()` knows the addresses of tensors."""
    properties, capability = torch_properties(target), divmod(target["architecture"], 10)
    stream = types.SimpleNamespace(cuda_stream=0, device_index=0, stream_id=0, synchronize=lambda: None, query=lambda: True,
                                   wait_stream=lambda other: None)
    one_stream = refusing("streams", "launch makes a CUDA stream or event; there is one stream, launch everything there without events")
    graphs = refusing("graph", "launch makes a CUDA graph; launch the kernels, they are replayed as a plan")
    answers = {
        "is_available": lambda: True, "is_initialized": lambda: True, "device_count": lambda: 1, "current_device": lambda: 0,
        "set_device": lambda device: None, "synchronize": lambda device=None: None, "empty_cache": lambda: None, "init": lambda: None,
        "_lazy_init": lambda: None, "get_device_capability": lambda device=None: capability, "is_bf16_supported": lambda *_, **__: True,
        "get_device_properties": lambda device=None: properties, "get_device_name": lambda device=None: target["name"],
        "current_stream": lambda device=None: stream, "default_stream": lambda device=None: stream,
        "mem_get_info": lambda device=None: (target["memory_bytes"], target["memory_bytes"]),
        "device": lambda device: contextlib.nullcontext(), "device_of": lambda tensor: contextlib.nullcontext(),
        "stream": one_stream, "Stream": one_stream, "Event": one_stream, "ExternalStream": one_stream,
        "CUDAGraph": graphs, "graph": graphs, "make_graphed_callables": graphs}
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
    torch._C._cuda_getCurrentRawStream = lambda index: 0
    torch.compile = refusing("torch_compile", "launch uses torch.compile; write the kernels in Triton yourself")
    torch.Tensor.numpy = lambda tensor, **_: refusing("reads_values", "launch reads a tensor's values, which are not known before it runs "
                                                      "on the GPU; decide by sizes, or in the kernel")()
    # Without these two the first fake tensor would ask a driver.
    fake_tensor.init_gpu_context = lambda device: None
    fake_tensor.FakeTensorMode.avoid_device_init = True
    fake_tensor.FakeTensor.data_ptr = lambda tensor: memory_of_run().address(tensor)
