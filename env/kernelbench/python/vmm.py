"""Memory of a GPU that two processes have at once, through the driver's virtual memory calls. What the driver refuses is an OSError that
names the call and the driver's word for what is wrong."""
import ctypes
import os
import typing

PINNED, DEVICE, POSIX_FILE_DESCRIPTOR, READ_AND_WRITE, MINIMUM = 1, 1, 1, 3, 0  # of cuda.h
ADDRESS = ctypes.c_ulonglong  # CUdeviceptr and CUmemGenericAllocationHandle
OFFSET_BITS, NUMBER_BITS = 44, 19  # of a place
NOWHERE = (1 << 64) - 1


def place(number, offset, as_reference):
    """Where a result lies, in a word. `as_reference`: in the order of the reference's strides, not of its indices."""
    if number >> NUMBER_BITS or offset >> OFFSET_BITS:
        return NOWHERE
    return int(as_reference) << (OFFSET_BITS + NUMBER_BITS) | number << OFFSET_BITS | offset


def read_place(word):
    """(number, offset, as_reference), or None."""
    if word == NOWHERE:
        return None
    return word >> OFFSET_BITS & (1 << NUMBER_BITS) - 1, word & (1 << OFFSET_BITS) - 1, bool(word >> (OFFSET_BITS + NUMBER_BITS))


class Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class AllocationFlags(ctypes.Structure):
    _fields_ = [("compression", ctypes.c_ubyte), ("rdma", ctypes.c_ubyte), ("usage", ctypes.c_ushort), ("reserved", ctypes.c_ubyte * 4)]


class AllocationProperties(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("handle_types", ctypes.c_int), ("location", Location), ("windows", ctypes.c_void_p),
                ("flags", AllocationFlags)]


class Access(ctypes.Structure):
    _fields_ = [("location", Location), ("flags", ctypes.c_int)]


SIGNATURES = {
    "cuInit": [ctypes.c_uint],
    "cuGetErrorName": [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)],
    "cuMemGetAllocationGranularity": [ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(AllocationProperties), ctypes.c_int],
    "cuMemCreate": [ctypes.POINTER(ADDRESS), ctypes.c_size_t, ctypes.POINTER(AllocationProperties), ctypes.c_ulonglong],
    "cuMemExportToShareableHandle": [ctypes.c_void_p, ADDRESS, ctypes.c_int, ctypes.c_ulonglong],
    "cuMemImportFromShareableHandle": [ctypes.POINTER(ADDRESS), ctypes.c_void_p, ctypes.c_int],
    "cuMemAddressReserve": [ctypes.POINTER(ADDRESS), ctypes.c_size_t, ctypes.c_size_t, ADDRESS, ctypes.c_ulonglong],
    "cuMemMap": [ADDRESS, ctypes.c_size_t, ctypes.c_size_t, ADDRESS, ctypes.c_ulonglong],
    "cuMemSetAccess": [ADDRESS, ctypes.c_size_t, ctypes.POINTER(Access), ctypes.c_size_t],
    "cuMemUnmap": [ADDRESS, ctypes.c_size_t],
    "cuMemAddressFree": [ADDRESS, ctypes.c_size_t],
    "cuMemRelease": [ADDRESS],
    "cuCtxSetLimit": [ctypes.c_int, ctypes.c_size_t],
    "cuCtxResetPersistingL2Cache": [],
    "cuStreamWaitValue32_v2": [ctypes.c_void_p, ADDRESS, ctypes.c_uint32, ctypes.c_uint],
}


class Driver:
    """libcuda with every call checked."""

    def __init__(self, library="libcuda.so.1"):
        self.library = ctypes.CDLL(library)
        for name, types in SIGNATURES.items():
            function = getattr(self.library, name)
            function.argtypes, function.restype = types, ctypes.c_int
        self.call("cuInit", 0)

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        if result != 0:
            word = ctypes.c_char_p()
            self.library.cuGetErrorName(result, ctypes.byref(word))
            raise OSError(f"{name}: {word.value.decode() if word.value else f'error {result}'}")


class Shared:
    """Memory at `address`, `bytes` of it, that lasts until close(). The context of the device is current when one is made."""

    def __init__(self, driver, device, handle, bytes_):
        self.driver, self.handle, self.bytes = driver, handle, bytes_
        self.reserved, self.mapped = ADDRESS(0), False
        try:
            self.map(device)
        except OSError:
            self.undo()
            raise

    def map(self, device):
        self.driver.call("cuMemAddressReserve", ctypes.byref(self.reserved), self.bytes, 0, 0, 0)
        self.address = self.reserved.value
        self.driver.call("cuMemMap", self.address, self.bytes, 0, self.handle, 0)
        self.mapped = True
        access = Access(Location(DEVICE, device), READ_AND_WRITE)
        self.driver.call("cuMemSetAccess", self.address, self.bytes, ctypes.byref(access), 1)

    def undo(self):
        """Gives back what there is, the memory itself included."""
        if self.mapped:
            self.driver.call("cuMemUnmap", self.address, self.bytes)
        if self.reserved.value:
            self.driver.call("cuMemAddressFree", self.reserved.value, self.bytes)
        self.driver.call("cuMemRelease", self.handle)
        self.reserved, self.mapped = ADDRESS(0), False

    @staticmethod
    def properties(device):
        return AllocationProperties(PINNED, POSIX_FILE_DESCRIPTOR, Location(DEVICE, device), None, AllocationFlags())

    @classmethod
    def whole_pages(cls, driver, device, bytes_):
        page = ctypes.c_size_t()
        driver.call("cuMemGetAllocationGranularity", ctypes.byref(page), ctypes.byref(cls.properties(device)), MINIMUM)
        return -(-bytes_ // page.value) * page.value

    @classmethod
    def create(cls, driver, device, bytes_):
        """New memory of at least that many bytes."""
        bytes_, handle = cls.whole_pages(driver, device, bytes_), ADDRESS()
        driver.call("cuMemCreate", ctypes.byref(handle), bytes_, ctypes.byref(cls.properties(device)), 0)
        return cls(driver, device, handle.value, bytes_)

    @classmethod
    def imported(cls, driver, device, descriptor, bytes_):
        """The memory behind a descriptor, which has that many bytes and stays open."""
        handle = ADDRESS()
        driver.call("cuMemImportFromShareableHandle", ctypes.byref(handle), ctypes.c_void_p(descriptor), POSIX_FILE_DESCRIPTOR)
        return cls(driver, device, handle.value, bytes_)

    def exported(self):
        """A new descriptor, which the caller closes."""
        descriptor = ctypes.c_int(-1)
        self.driver.call("cuMemExportToShareableHandle", ctypes.byref(descriptor), self.handle, POSIX_FILE_DESCRIPTOR, 0)
        return descriptor.value

    def close(self):
        """Nothing on the device may use it any more."""
        if self.mapped:
            self.undo()


class Segment(typing.NamedTuple):
    number: int
    offset: int  # of the address that was asked for
    bytes: int


class Segments:
    """This process's memory of the GPU that another one can be given. A library beside the interpreter makes it so (python_segments.h)."""
    LIBRARY = "TEMPER_SEGMENTS"

    def __init__(self):
        self.library, self.sent = None, set()
        if path := os.environ.get(self.LIBRARY):
            self.library = ctypes.CDLL(path)
            self.library.temper_segment_at.argtypes = [ctypes.c_void_p] + 3 * [ctypes.POINTER(ctypes.c_uint64)]
            self.library.temper_segment_export.argtypes = [ctypes.c_uint64]

    def holding(self, address):
        """The Segment, or None."""
        number, offset, bytes_ = (ctypes.c_uint64() for _ in range(3))
        if self.library is None or not self.library.temper_segment_at(address, number, offset, bytes_):
            return None
        return Segment(number.value, offset.value, bytes_.value)

    def export_once(self, segment, send):
        """Has `send` take the descriptor of one that nobody has been given."""
        if segment.number in self.sent:
            return
        descriptor = self.library.temper_segment_export(segment.number)
        if descriptor < 0:
            raise OSError("cuMemExportToShareableHandle: memory cannot be given to another process")
        try:
            send({"status": "segment", "number": segment.number, "bytes": segment.bytes}, [descriptor])
        finally:
            os.close(descriptor)
        self.sent.add(segment.number)
