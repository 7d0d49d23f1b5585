"""What a run of `launch` did, step by step, and the plan of it in the form that the judge reads."""
from contextlib import contextmanager
from dataclasses import dataclass, field

from memory import INPUT, Memory, Pointer, WORKSPACE
from refusal import plan_refusal

# The plan's own limits (env/plan/plan.h).
MAX_STEPS, MAX_KERNELS, MAX_CUBINS, MAX_WORKSPACES, MAX_SLOTS, MAX_ALTERNATIVES = 4096, 256, 256, 256, 16, 64


@dataclass
class Launch:
    kernel: object  # driver.Kernel
    grid: tuple
    cluster: int
    cooperative: bool
    programmatic: bool
    arguments: bytes
    relocations: list  # (at, Pointer)
    tensor_maps: list  # (at, Pointer, fields)

    def pointers(self):
        return [one[1] for one in self.relocations + self.tensor_maps]


@dataclass
class Memset:
    to: Pointer
    value: int
    width: int
    count: int

    def pointers(self):
        return [self.to]


@dataclass
class Copy:
    to: Pointer
    source: Pointer
    bytes: int

    def pointers(self):
        return [self.to, self.source]


@dataclass
class Choose:
    slot: int
    alternatives: list = field(default_factory=list)  # (configuration, text, steps)

    def pointers(self):
        return [pointer for _, _, steps in self.alternatives for step in steps for pointer in step.pointers()]


class Run:
    """One call of `launch`."""

    def __init__(self, base):
        self.memory = Memory(base)
        self.steps = []
        self.sink, self.count = self.steps, 0
        self.slots = {}  # (tuner, key) → slot
        self.last = {}  # buffer → the step that touched it last

    def add(self, step):
        self.count += 1  # those of alternatives too
        if self.count > MAX_STEPS:
            raise plan_refusal("too_many_steps", f"launch takes more than {MAX_STEPS} steps; launch fewer kernels")
        self.sink.append(step)
        for pointer in step.pointers():
            self.last[pointer.buffer] = step

    @contextmanager
    def into(self, steps):
        """Steps taken meanwhile go to that list."""
        before, self.sink = self.sink, steps
        try:
            yield steps
        finally:
            self.sink = before

    @property
    def choosing(self):
        return self.sink is not self.steps

    def slot(self, tuner, key):
        slot = self.slots.setdefault((id(tuner), key), len(self.slots))
        if slot == MAX_SLOTS:
            raise plan_refusal("too_many_tuners", f"more than {MAX_SLOTS} launches that are tuned apart; tune fewer kernels or keys")
        return slot


class Plan:
    """A run in the judge's words. Buffers get their numbers in order of their first use."""

    def __init__(self, run, outputs, cubins):
        self.run, self.outputs, self.cubins = run, outputs, cubins  # outputs: buffer → index of the output
        self.kernels, self.places, self.workspaces = {}, {}, []

    def wire(self):
        steps = [self.step(step) for step in self.run.steps]
        return {"kernels": [self.kernel_wire(kernel) for kernel in self.kernels], "workspaces": self.workspaces, "steps": steps}

    def kernel_wire(self, kernel):
        if kernel.cubin not in self.cubins and len(self.cubins) == MAX_CUBINS:
            raise plan_refusal("too_many_cubins", f"launch compiles more than {MAX_CUBINS} kernels over all sizes; tune fewer configurations")
        return {"name": kernel.name, "cubin": self.cubins.setdefault(kernel.cubin, len(self.cubins)),
                "max_dynamic_shared": kernel.shared if kernel.shared > 48 << 10 else 0}

    def place(self, pointer):
        buffer = self.run.memory.buffers[pointer.buffer]
        if pointer.buffer in self.outputs:
            space, index = "output", self.outputs[pointer.buffer]
        elif buffer.role == INPUT:
            space, index = INPUT, buffer.index
        else:
            space, index = WORKSPACE, self.workspace(pointer.buffer, buffer.bytes)
        return {"space": space, "index": index, "offset": pointer.offset}

    def workspace(self, buffer, size):
        if buffer not in self.places:
            if len(self.workspaces) == MAX_WORKSPACES:
                raise plan_refusal("too_many_workspaces", f"kernels use more than {MAX_WORKSPACES} tensors; allocate fewer")
            self.places[buffer] = len(self.workspaces)
            self.workspaces.append(size)
        return self.places[buffer]

    def step(self, step):
        if isinstance(step, Launch):
            return {"launch": self.launch(step)}
        if isinstance(step, Memset):
            return {"memset": {**self.place(step.to), "value": step.value, "width": step.width, "count": step.count}}
        if isinstance(step, Copy):
            return {"copy": {"to": self.place(step.to), "from": self.place(step.source), "bytes": step.bytes}}
        return {"choose": {"slot": step.slot, "alternatives": [
            {"configuration": configuration, "text": text, "steps": [self.step(one) for one in steps]}
            for configuration, text, steps in step.alternatives]}}

    def launch(self, launch):
        if launch.kernel not in self.kernels and len(self.kernels) == MAX_KERNELS:
            raise plan_refusal("too_many_kernels", f"more than {MAX_KERNELS} different kernels; launch fewer, or tune fewer configurations")
        return {"kernel": self.kernels.setdefault(launch.kernel, len(self.kernels)),
                "grid": list(launch.grid), "block": [launch.kernel.threads, 1, 1], "cluster": [launch.cluster, 1, 1],
                "shared": launch.kernel.shared, "cooperative": launch.cooperative, "programmatic": launch.programmatic,
                "arguments": launch.arguments.hex(),
                "relocations": [{"at": at, **self.place(pointer)} for at, pointer in launch.relocations],
                "tensor_maps": [{"at": at, **self.place(pointer), **fields} for at, pointer, fields in launch.tensor_maps]}
