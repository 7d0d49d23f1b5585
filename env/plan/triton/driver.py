"""Stands where triton.runtime.driver.active stands: answers for the target, and writes down what would be launched."""
import hashlib
import operator
import types

import torch
import triton
import triton.testing
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.driver import ty_to_cpp
from triton.runtime import _allocation

import device
from arguments import pack
from cubin import kernel_facts
from refusal import plan_refusal
from steps import Launch

WARP = 32
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_CLUSTER = 8  # that every GPU with clusters can place


class Kernel:
    """A compiled kernel. Two that have the same cubin are one."""

    def __init__(self, source, metadata, cubin, facts):
        self.name, self.cubin, self.facts = metadata.name, cubin, facts
        self.short_name = getattr(source, "name", metadata.name)
        self.signature = list(source.signature.values())
        self.shared, self.threads = metadata.shared, WARP * metadata.num_warps
        described = sum(isinstance(kind, str) and kind.startswith("tensordesc") for kind in self.signature)
        self.descriptors = list(getattr(metadata, "tensordesc_meta", None) or [None] * described)

    def __eq__(self, other):
        return (self.name, self.cubin) == (other.name, other.cubin)

    def __hash__(self):
        return hash((self.name, self.cubin))


class Driver:
    def __init__(self, recorder):
        self.recorder, self.target = recorder, recorder.target
        self.binaries = {}  # digest → (bytes, KernelFacts)
        self.launcher_cls = self.launcher
        self.utils = types.SimpleNamespace(
            load_binary=self.load_binary, get_device_properties=lambda index: device.driver_properties(self.target),
            fill_tma_descriptor=self.tensor_map, set_printf_fifo_size=lambda size: None,
            cuOccupancyMaxActiveClusters=lambda function, shared, cluster: self.target["multiprocessors"] // max(1, cluster))

    # What Triton and candidates ask.
    def get_current_target(self):
        return GPUTarget("cuda", self.target["architecture"], WARP)

    def get_current_device(self):
        return 0

    def set_current_device(self, index):
        pass

    def get_current_stream(self, index=0):
        return 0

    def get_device_capability(self, index=0):
        return divmod(self.target["architecture"], 10)

    def get_active_torch_device(self):
        return torch.device("cuda", 0)

    def get_device_interface(self):
        return torch.cuda

    def map_python_to_cpp_type(self, kind):
        return ty_to_cpp(kind)

    def get_benchmarker(self):
        return refuse_timing

    def get_empty_cache_for_benchmark(self):
        refuse_timing()

    def clear_cache(self, cache):
        refuse_timing()

    # What CompiledKernel asks.
    def load_binary(self, name, cubin, shared, index):
        """(module, function, registers, spilled registers, most threads of a block)"""
        digest = hashlib.sha256(cubin).hexdigest()
        facts = kernel_facts(cubin, name)
        self.binaries[digest] = (cubin, facts)
        by_registers = device.REGISTERS // max(1, facts.registers) // WARP * WARP
        return digest, digest, facts.registers, facts.local_bytes // 4, min(facts.max_threads, by_registers)

    def tensor_map(self, address, swizzle, element_bytes, element_type, box, sizes, strides, padding):
        """The fields of cuTensorMapEncodeTiled, innermost dimension first."""
        fields = {"element_type": element_type, "swizzle": swizzle, "fill": padding, "box": [int(one) for one in reversed(box)],
                  "sizes": [int(one) for one in reversed(sizes)],
                  "strides": [int(one) * element_bytes for one in reversed(strides[:-1])]}
        return types.SimpleNamespace(address=address, fields=fields)

    def launcher(self, source, metadata):
        kernels = {}

        def launch(x, y, z, stream, function, packed_metadata, launch_metadata, enter_hook, exit_hook, *values):
            grid = tuple(operator.index(one) for one in (x, y, z))
            if grid[0] * grid[1] * grid[2] == 0:
                return
            if function not in kernels:
                kernels[function] = Kernel(source, metadata, function, self.binaries[function][1])
            if getattr(enter_hook, "calls", enter_hook) or getattr(exit_hook, "calls", exit_hook):
                raise plan_refusal("launch_hook", "launch sets a hook that runs at each launch of a kernel; remove it")
            self.launch(kernels[function], metadata, grid, values)

        return launch

    def launch(self, kernel, metadata, grid, values):
        run, cluster = self.recorder.run, metadata.num_ctas
        grid = (grid[0] * cluster, *grid[1:])
        if any(not 0 < one <= most for one, most in zip(grid, MAX_GRID)):
            raise plan_refusal("grid", f"launch gives {kernel.short_name} a grid of {grid}; at most {MAX_GRID}")
        if cluster > MAX_CLUSTER:
            raise plan_refusal("cluster", f"num_ctas={cluster} for {kernel.short_name}; at most {MAX_CLUSTER}")
        packed = pack(kernel, values, self.scratch(kernel, metadata, grid), run.memory)
        run.add(Launch(kernel, grid, cluster, bool(metadata.launch_cooperative_grid), bool(metadata.launch_pdl), bytes(packed.bytes),
                       packed.relocations, packed.tensor_maps))

    def scratch(self, kernel, metadata, grid):
        """Memory that the kernel needs besides its arguments, from the allocator that the candidate set."""
        if metadata.profile_scratch_size:
            raise plan_refusal("profiler", f"{kernel.short_name} is compiled for Triton's profiler; remove it")
        if not metadata.global_scratch_size:
            return None, None
        size = grid[0] * grid[1] * grid[2] * metadata.global_scratch_size
        memory = self.recorder.run.memory
        buffer = _allocation._allocator.get()(size, metadata.global_scratch_align, 0)
        where = memory.at(buffer.data_ptr())
        if where is None or memory.buffers[where.buffer].bytes - where.offset < size or where.offset % metadata.global_scratch_align:
            raise plan_refusal("allocator", f"the allocator of triton.set_allocator gives less than the {size} bytes asked for; return "
                               "torch.empty(size, dtype=torch.int8, device='cuda')")
        return buffer, None


def refuse_timing(*_, **__):
    raise plan_refusal("times_itself", "launch times kernels, and there is no GPU while it runs; use triton.autotune, the judge times its "
                       "configurations")


def install(recorder):
    """Makes Triton ask that driver from now on."""
    driver = Driver(recorder)
    triton.runtime.driver.set_active(driver)
    for name in ("do_bench", "do_bench_cudagraph"):
        setattr(triton.testing, name, refuse_timing)
    return driver
