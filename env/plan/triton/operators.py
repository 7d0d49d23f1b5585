"""What torch does between the kernels: memory that is made, set, copied or seen another way. Anything else is refused by its name."""
import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from memory import INPUT
from refusal import plan_refusal, policy_refusal
from steps import Copy, Memset

ALLOCATIONS = {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"}
FILLS = {"zeros": 0, "zeros_like": 0, "new_zeros": 0, "ones": 1, "ones_like": 1, "new_ones": 1,
         "full": None, "full_like": None, "new_full": None}  # None: the value is an argument
SET_IN_PLACE = {"zero_", "fill_"}
VIEWS = {"_unsafe_view", "_reshape_alias", "lift"}  # besides those that torch knows as views
QUESTIONS = {"device", "is_same_size", "sym_size", "sym_stride", "sym_numel", "sym_storage_offset", "size", "stride", "numel",
             "record_stream", "is_pinned", "is_contiguous", "is_strides_like_format", "is_non_overlapping_and_dense", "dim", "layout"}
READS = {"_local_scalar_dense", "is_nonzero", "item", "allclose", "equal"}
ADVICE = {"arange": "use tl.arange in the kernel", "_softmax": "write the softmax as a kernel", "sum": "reduce in the kernel",
          "resize_": "allocate a tensor of that size"}


def dense_bytes(tensor):
    """How many bytes the tensor covers from its first element on, or None where they have gaps or are used twice."""
    expected = 1
    for stride, size in sorted((stride, size) for stride, size in zip(tensor.stride(), tensor.shape) if size != 1):
        if stride != expected:
            return 0 if tensor.numel() == 0 else None
        expected *= size
    return tensor.numel() * tensor.element_size()


def same_order(one, other):
    """Whether elements lie in memory in the same order."""
    return one.shape == other.shape and all(a == b for a, b, size in zip(one.stride(), other.stride(), one.shape) if size != 1)


def fill_words(value, dtype):
    """The bit pattern of an element as (value, width) of a memset, width 1, 2 or 4; None where its two halves differ at 8 bytes."""
    with unset_fake_temporarily():
        pattern = bytes(torch.full((1,), value, dtype=dtype, device="cpu").view(torch.uint8).tolist())
    while len(pattern) > 4:
        half = len(pattern) // 2
        if pattern[:half] != pattern[half:]:
            return None
        pattern = pattern[:half]
    return int.from_bytes(pattern, "little"), len(pattern)


class Operators(TorchDispatchMode):
    """Sees every operator of torch before it runs on fake tensors."""

    def __init__(self, recorder):
        super().__init__()
        self.recorder = recorder

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = operator.overloadpacket.__name__
        given = [one for one in tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor) and one.device.type == "cuda"]
        self.refuse_by_name(operator, name, given)
        out = operator(*args, **kwargs)
        self.record(operator, name, args, given, out)
        return out

    def refuse_by_name(self, operator, name, given):
        if given and name in READS:
            raise plan_refusal("reads_values", "launch reads a tensor's values, which are not known before it runs on the GPU; decide by "
                               "sizes, or in the kernel")
        if operator.namespace not in ("aten", "prim", "prims"):
            raise plan_refusal("custom_operator", f"launch calls the registered operator {operator}; call the Python function itself")
        if not given or operator.is_view or name in ALLOCATIONS | set(FILLS) | SET_IN_PLACE | VIEWS | QUESTIONS:
            return
        if name not in ("clone", "copy_", "_to_copy"):
            advice = ADVICE.get(name, "write it as a Triton kernel")
            raise policy_refusal("torch_work", f"launch calls torch's aten.{name}; only Triton kernels may compute: {advice}")

    def record(self, operator, name, args, given, out):
        made = [one for one in tree_leaves(out) if isinstance(one, torch.Tensor) and one.device.type == "cuda"]
        memory = self.recorder.run.memory
        if operator.is_view or name in VIEWS or name in QUESTIONS:
            return
        if name in SET_IN_PLACE and given:
            self.fill(args[0], args[1] if name == "fill_" else 0)
        elif name in FILLS and made:
            memory.add(made[0])
            value = FILLS[name]
            self.fill(made[0], args[1] if value is None else value)
        elif name in ALLOCATIONS:
            for tensor in made:
                memory.add(tensor)
        elif name in ("clone", "copy_", "_to_copy") and (given or made):
            self.copy(name, args, out)
        elif made:
            raise policy_refusal("torch_work", f"launch calls torch's aten.{name}; only Triton kernels may compute: "
                                 + ADVICE.get(name, "write it as a Triton kernel"))

    def fill(self, tensor, value):
        pointer = self.written(tensor)
        size = dense_bytes(tensor)
        if size is None:
            raise policy_refusal("strided_fill", "launch sets a tensor that is not contiguous; set all of it, or do it in the kernel")
        if isinstance(value, torch.Tensor):
            raise policy_refusal("torch_work", "launch fills a tensor with another tensor's value; use a number")
        words = fill_words(value, tensor.dtype)
        if words is None:
            raise policy_refusal("wide_fill", f"launch fills a {tensor.dtype} tensor with {value}; fill 32-bit elements, or do it in the kernel")
        if size:
            self.recorder.run.add(Memset(pointer, *words, size // words[1]))

    def copy(self, name, args, out):
        to, source = (args[0], args[1]) if name == "copy_" else (out, args[0])
        if to.device.type != "cuda":
            raise plan_refusal("reads_values", "launch copies a tensor to the host; its values are not known before it runs on the GPU")
        if source.device.type != "cuda":
            raise policy_refusal("host_data", "launch copies from the host's memory; pass numbers as kernel arguments, and make tensors with "
                                 "torch.empty or torch.full and device=x.device")
        if to.dtype != source.dtype:
            raise policy_refusal("torch_work", f"launch converts {source.dtype} to {to.dtype} in torch (aten.{name}); convert with .to() in a "
                                 "kernel")
        if name != "copy_":
            self.recorder.run.memory.add(to)
        size, other = dense_bytes(to), dense_bytes(source)
        if size is None or other is None or not same_order(to, source):
            raise policy_refusal("strided_copy", f"launch rearranges a tensor in torch (aten.{name}); give the kernel its strides instead")
        self.add_copy(self.written(to), self.recorder.run.memory.pointer(source), size)

    def add_copy(self, to, source, size):
        if size == 0 or to == source:
            return
        if to.buffer == source.buffer and abs(to.offset - source.offset) < size:
            raise plan_refusal("copy_overlaps", "launch copies a tensor onto itself, shifted; copy it to another tensor")
        self.recorder.run.add(Copy(to, source, size))

    def written(self, tensor):
        pointer = self.recorder.run.memory.pointer(tensor)
        buffer = self.recorder.run.memory.buffers[pointer.buffer]
        if buffer.role == INPUT:
            raise plan_refusal("writes_input", f"launch writes its input {buffer.name}; write a new tensor")
        return pointer
