"""What a reply must hold whoever wrote it: the same that C++ checks, in a few lines, for the tests here."""
import struct

from cubin import kernel_facts  # client.py has put the room on the path

ELEMENT_BYTES = {"f32": 4, "bf16": 2, "f16": 2, "i32": 4}
POINTER, TENSOR_MAP = 8, 128


def bytes_of(buffer):
    count = 1
    for size in buffer["sizes"]:
        count *= size
    return count * ELEMENT_BYTES[buffer["type"]]


def step_kinds(steps):
    return [kind for step in steps for kind in step]


def flattened(steps):
    for step in steps:
        for alternative in step.get("choose", {}).get("alternatives", []):
            yield from flattened(alternative["steps"])
        if "choose" not in step:
            yield step


class Check:
    """Collects what is wrong with one plan."""

    def __init__(self, plan, cubins, shape):
        self.plan, self.cubins, self.wrong = plan, cubins, []
        self.bytes = {"input": [bytes_of(one) for one in shape["inputs"]], "output": [bytes_of(one) for one in shape["outputs"]],
                      "workspace": plan["workspaces"]}

    def pointer(self, where, extent, written):
        size = self.bytes[where["space"]][where["index"]]
        if not 0 <= where["offset"] <= size - extent:
            self.wrong.append(f"{extent} bytes at {where} of {size}")
        if written and where["space"] == "input":
            self.wrong.append(f"{where} is written")

    def launch(self, launch):
        kernel = self.plan["kernels"][launch["kernel"]]
        facts = kernel_facts(self.cubins[kernel["cubin"]], kernel["name"])
        places, arguments = dict(facts.parameters), bytes.fromhex(launch["arguments"])
        if len(arguments) != sum(facts.parameters[-1]):
            self.wrong.append(f"{len(arguments)} bytes of arguments, the cubin takes {facts.parameters}")
        for one in launch["relocations"]:
            self.place(places, arguments, one["at"], POINTER)
            self.pointer(one, 0, False)
        for one in launch["tensor_maps"]:
            self.place(places, arguments, one["at"], TENSOR_MAP)
            self.tensor_map(one)
        if launch["shared"] > max(48 << 10, kernel["max_dynamic_shared"]):
            self.wrong.append("shared memory that nobody asked for")
        if launch["block"][0] > facts.max_threads or launch["grid"][0] % launch["cluster"][0]:
            self.wrong.append(f"a block of {launch['block']} in a grid of {launch['grid']}")

    def place(self, places, arguments, at, size):
        if places.get(at) != size:
            self.wrong.append(f"{size} bytes at {at}, the cubin has {places}")
        if any(arguments[at:at + size]):
            self.wrong.append(f"the bytes at {at} are not zero")

    def tensor_map(self, one):
        rank = len(one["sizes"])
        if not 1 <= rank <= 5 or len(one["box"]) != rank or len(one["strides"]) != rank - 1:
            self.wrong.append(f"ranks of {one}")
        if one["offset"] % 16 or any(stride % 16 for stride in one["strides"]) or any(not 0 < size <= 256 for size in one["box"]):
            self.wrong.append(f"alignment or box of {one}")
        extent = sum((size - 1) * stride for size, stride in zip(one["sizes"][1:], one["strides"]))
        self.pointer(one, extent, False)

    def memset(self, memset):
        self.pointer(memset, memset["width"] * memset["count"], True)
        if memset["width"] not in (1, 2, 4) or memset["offset"] % memset["width"] or memset["value"] >> 8 * memset["width"]:
            self.wrong.append(f"{memset}")

    def copy(self, copy):
        self.pointer(copy["to"], copy["bytes"], True)
        self.pointer(copy["from"], copy["bytes"], False)


def check_reply(reply, cubins, request):
    wrong = []
    for plan, shape in zip(reply["plans"], request["shapes"]):
        check = Check(plan, cubins, shape)
        for step in flattened(plan["steps"]):
            for kind, what in step.items():
                getattr(check, kind)(what)
        slots = [step["choose"]["slot"] for step in plan["steps"] if "choose" in step]
        if slots != sorted(slots) or any(size <= 0 for size in plan["workspaces"]):
            check.wrong.append(f"slots {slots}, workspaces {plan['workspaces']}")
        wrong += check.wrong
    if {kernel["cubin"] for plan in reply["plans"] for kernel in plan["kernels"]} != set(range(len(cubins))):
        wrong.append("cubins that no plan uses")
    return wrong


def argument(launch, at, form):
    """A number of a launch's arguments."""
    return struct.unpack_from("<" + form, bytes.fromhex(launch["arguments"]), at)[0]
