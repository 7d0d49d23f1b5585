"""What a cubin says of its one kernel: registers, local memory, threads, and where its parameters lie.

The records stand in the sections .nv.info and .nv.info.KERNEL; env/plan/cubin.cc reads the same, without trust.
"""
import struct
from dataclasses import dataclass, field

FRAME_SIZE, MAX_THREADS, REQUIRED_THREADS, PARAMETER, PARAMETER_BYTES, REGISTERS = 0x11, 0x05, 0x10, 0x17, 0x19, 0x2F
HAS_PAYLOAD = 4  # the form of a record whose value is a length


@dataclass
class KernelFacts:
    registers: int = 0
    local_bytes: int = 0
    max_threads: int = 1024
    parameter_bytes: int = 0
    parameters: list = field(default_factory=list)  # (offset, bytes), in order


class Sections:
    def __init__(self, cubin):
        if cubin[:4] != b"\x7fELF" or cubin[4] != 2:
            raise ValueError("no cubin")
        self.cubin = cubin
        table, = struct.unpack_from("<Q", cubin, 0x28)
        size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
        headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, table + at * size) for at in range(count)]
        self.ranges = {self.text(headers[names][4] + one[0]): (one[4], one[5]) for one in headers}

    def text(self, at):
        return self.cubin[at:self.cubin.index(b"\0", at)].decode()

    def symbol(self, index):
        at, _ = self.ranges[".symtab"]
        return self.text(self.ranges[".strtab"][0] + struct.unpack_from("<I", self.cubin, at + index * 24)[0])

    def records(self, section):
        """(attribute, value, payload) of each record."""
        at, bytes_ = self.ranges[section]
        end = at + bytes_
        while at < end:
            form, attribute, value = struct.unpack_from("<BBH", self.cubin, at)
            at += 4
            payload = self.cubin[at:at + value] if form == HAS_PAYLOAD else b""
            at += len(payload)
            yield attribute, value, payload


def kernel_facts(cubin, kernel):
    sections, facts = Sections(cubin), KernelFacts()
    for attribute, _, payload in sections.records(".nv.info"):
        if attribute in (REGISTERS, FRAME_SIZE):
            symbol, value = struct.unpack_from("<II", payload)
            if sections.symbol(symbol) == kernel:
                facts.__dict__["registers" if attribute == REGISTERS else "local_bytes"] = value
    for attribute, value, payload in sections.records(f".nv.info.{kernel}"):
        if attribute == PARAMETER:  # index, ordinal, offset, and flags with the size in their upper bits
            _, ordinal, offset, flags = struct.unpack_from("<IHHI", payload)
            facts.parameters.append((ordinal, offset, flags >> 18))
        elif attribute == PARAMETER_BYTES:
            facts.parameter_bytes = value
        elif attribute in (MAX_THREADS, REQUIRED_THREADS):
            facts.max_threads = struct.unpack_from("<I", payload)[0]
    facts.parameters = [place[1:] for place in sorted(facts.parameters)]
    return facts
