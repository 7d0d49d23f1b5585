"""A launch's arguments as the bytes that a kernel's parameters hold, with the places where addresses and tensor maps go."""
import operator
import re
import struct

from triton.backends.nvidia.driver import make_tensordesc_arg

from refusal import plan_refusal

INTEGERS = {"i1": "b", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u1": "B", "u8": "B", "u16": "H", "u32": "I", "u64": "Q"}
TENSOR_MAP, TENSOR_MAP_BYTES = "nvTmaDesc", 128
POINTER_BYTES = 8
DESCRIPTOR = re.compile(r"tensordesc<([^[>]*)\[([^]]*)\]")


def float_bytes(kind, value):
    """As Triton's launcher packs them: bf16 cut off, not rounded."""
    value = float(value)
    if kind == "fp64":
        return struct.pack("<d", value)
    form = {"fp16": "<e", "fp32": "<f", "f32": "<f", "bf16": "<f"}[kind]
    try:
        packed = struct.pack(form, value)
    except OverflowError:
        packed = struct.pack(form, float("inf") if value > 0 else float("-inf"))
    return packed[2:] if kind == "bf16" else packed


def scalar_bytes(kind, value):
    if kind in INTEGERS:
        try:
            return struct.pack("<" + INTEGERS[kind], operator.index(value))
        except struct.error:
            raise OverflowError(f"{value} does not fit the kernel's {kind}") from None
    return float_bytes(kind, value)


def descriptor_values(kind, value, meta):
    """What stands for a tensor descriptor: a tensor map, or pointer, shape, strides and padding; then shape and strides."""
    element, shape = DESCRIPTOR.match(kind).groups()
    rank = shape.count(",") + 1
    kinds = [TENSOR_MAP] if meta else ["*" + element] + ["i64"] * (2 * rank) + ["i1"]
    return zip(kinds + ["i32"] * rank + ["i64"] * rank, make_tensordesc_arg(value, meta), strict=True)


def flattened(signature, values, descriptors):
    """(type, value) of each parameter, without what is compiled in."""
    for kind, value in zip(signature, values, strict=True):
        if isinstance(kind, tuple):
            yield from flattened(kind, value, descriptors)
        elif kind.startswith("tensordesc"):
            yield from descriptor_values(kind, value, next(descriptors))
        elif kind != "constexpr":
            yield kind, value


class Packed:
    """Parameters lie where the cubin's own table has them. A rule of C would not do: ptxas aligns a tensor map by where the GPU keeps
    parameters, so that the first is at 48."""

    def __init__(self, kernel, memory):
        self.kernel, self.memory = kernel, memory
        self.bytes = bytearray(sum(kernel.facts.parameters[-1]) if kernel.facts.parameters else 0)
        self.relocations, self.tensor_maps = [], []

    def put(self, at, size, kind, value):
        if kind == TENSOR_MAP:
            pointer = self.pointed(value.address)
            self.tensor_maps.append((at, pointer, value.fields))
            length = TENSOR_MAP_BYTES
        elif kind[0] == "*":
            pointer = self.pointer(value)
            if pointer is not None:
                self.relocations.append((at, pointer))
            length = POINTER_BYTES
        else:
            packed = scalar_bytes(kind, value)
            self.bytes[at:at + len(packed)] = packed
            length = len(packed)
        if length != size:
            raise plan_refusal("layout", f"{self.kernel.short_name} takes {size} bytes at {at} of its parameters, and {kind} has {length}")

    def pointer(self, value):
        """The pointer behind a tensor, whatever says data_ptr(), or an address. None is the null pointer."""
        if value is None:
            return None
        if not isinstance(value, int):
            if getattr(getattr(value, "device", None), "type", "cuda") != "cuda":
                self.memory.pointer(value)  # refuses it
            value = value.data_ptr()
        return self.pointed(value) if value else None

    def pointed(self, address):
        pointer = self.memory.at(address)
        if pointer is None:
            raise plan_refusal("pointer_outside", f"launch gives {self.kernel.short_name} a pointer to none of its tensors; give it a tensor")
        return pointer


def pack(kernel, values, scratch, memory):
    """`scratch`: the two pointers that follow the kernel's own parameters."""
    descriptors = iter(kernel.descriptors)
    kinds = list(flattened(kernel.signature, values, descriptors)) + [("*i8", one) for one in scratch]
    packed, places = Packed(kernel, memory), kernel.facts.parameters
    if len(kinds) != len(places):
        raise plan_refusal("layout", f"{kernel.short_name} takes {len(places)} parameters, and was given {len(kinds)}")
    for (kind, value), (at, size) in zip(kinds, places):
        packed.put(at, size, kind, value)
    return packed
