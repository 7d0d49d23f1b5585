"""Fake GPU memory: an address for each storage, and the way back from an address to the storage.

A run has a base of its own. A plan that two runs at two bases agree on holds no address as a number.
"""
from dataclasses import dataclass

from refusal import plan_refusal

SHIFT = 36  # 64 GiB for each storage, the most that a plan's workspaces may have together
MAX_STORAGES = 448  # so that addresses stay within the 47 bits a driver gives, at either base
HOST_ADDRESS = 4096  # of tensors in the host's memory, which no kernel can reach

WORKSPACE, INPUT = "workspace", "input"


@dataclass(frozen=True)
class Pointer:
    """An address as buffer and offset in bytes. What kind of buffer it is can change until the run has ended."""
    buffer: int
    offset: int


@dataclass
class Buffer:
    bytes: int
    role: str = WORKSPACE
    index: int = -1  # of the input
    name: str = ""


class Memory:
    def __init__(self, base):
        self.base, self.buffers = base, []
        self.ids, self.kept = {}, []

    def add(self, tensor, **facts):
        """Gives the storage of a new tensor an address. It is kept alive, so that the address is used once."""
        storage = tensor.untyped_storage()
        if storage._cdata in self.ids:
            return
        if len(self.buffers) == MAX_STORAGES:
            raise plan_refusal("too_many_workspaces", f"launch allocates more than {MAX_STORAGES} tensors; allocate fewer, once each")
        if storage.nbytes() > 1 << SHIFT:
            raise plan_refusal("workspace_quota", f"launch allocates a tensor of {storage.nbytes()} bytes; at most {1 << SHIFT}")
        self.ids[storage._cdata] = len(self.buffers)
        self.kept.append(storage)
        self.buffers.append(Buffer(storage.nbytes(), **facts))

    def pointer(self, tensor):
        if tensor.device.type != "cuda":
            raise plan_refusal("host_tensor", "launch gives a kernel a tensor on the host; make it with device=x.device")
        buffer = self.ids.get(tensor.untyped_storage()._cdata)
        if buffer is None:
            raise plan_refusal("remembered", "launch uses a tensor that it did not get or make in this call; allocate and compute "
                               "everything in each call")
        return Pointer(buffer, tensor.storage_offset() * tensor.element_size())

    def address(self, tensor):
        """What data_ptr() says."""
        if tensor.device.type != "cuda":
            return HOST_ADDRESS
        where = self.pointer(tensor)
        return self.base + (where.buffer << SHIFT) + where.offset if self.buffers[where.buffer].bytes else 0

    def at(self, address):
        """The pointer of an address, or None where nothing lies."""
        buffer, offset = divmod(address - self.base, 1 << SHIFT)
        if not 0 <= buffer < len(self.buffers) or offset > self.buffers[buffer].bytes:
            return None
        return Pointer(buffer, offset)
