#include "env/kernelbench/turns/python_segments.h"

#include <dlfcn.h>

#include <map>
#include <mutex>

namespace {

using Address = unsigned long long;  // the driver's CUdeviceptr and CUmemGenericAllocationHandle

constexpr size_t kLeastSegmentBytes = size_t(1) << 20;
constexpr int kOutOfMemory = 2;  // cudaErrorMemoryAllocation; the driver's word for it has the same number
constexpr int kNoRuntime = 35;   // cudaErrorInsufficientDriver
constexpr int kPosixDescriptor = 1, kDevice = 1, kPinned = 1, kReadAndWrite = 3;

// As in cuda.h.
struct Location {
  int type, id;
};
struct Properties {
  int type, handle_types;
  Location location;
  void* windows;
  unsigned char compression, rdma;
  unsigned short usage;
  unsigned char reserved[4];
};
struct Access {
  Location location;
  int flags;
};

struct Driver {
  int (*current_device)(int*) = nullptr;
  int (*synchronize)() = nullptr;
  int (*granularity)(size_t*, const Properties*, int) = nullptr;
  int (*create)(Address*, size_t, const Properties*, Address) = nullptr;
  int (*release)(Address) = nullptr;
  int (*reserve)(Address*, size_t, size_t, Address, Address) = nullptr;
  int (*free)(Address, size_t) = nullptr;
  int (*map)(Address, size_t, size_t, Address, Address) = nullptr;
  int (*unmap)(Address, size_t) = nullptr;
  int (*set_access)(Address, size_t, const Access*, size_t) = nullptr;
  int (*export_handle)(void*, Address, int, Address) = nullptr;
  bool complete = false;

  Driver() {
    void* library = ::dlopen("libcuda.so.1", RTLD_NOW);
    complete = library != nullptr && find(library, "cuCtxGetDevice", current_device) &&
               find(library, "cuCtxSynchronize", synchronize) &&
               find(library, "cuMemGetAllocationGranularity", granularity) &&
               find(library, "cuMemCreate", create) && find(library, "cuMemRelease", release) &&
               find(library, "cuMemAddressReserve", reserve) && find(library, "cuMemAddressFree", free) &&
               find(library, "cuMemMap", map) && find(library, "cuMemUnmap", unmap) &&
               find(library, "cuMemSetAccess", set_access) &&
               find(library, "cuMemExportToShareableHandle", export_handle);
  }

  template <class Function>
  static bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    return function != nullptr;
  }
};

// The runtime's own function, behind this library.
template <class Function>
Function runtimes(const char* name) {
  if (void* next = ::dlsym(RTLD_NEXT, name)) return reinterpret_cast<Function>(next);
  for (const char* library : {"libcudart.so.13", "libcudart.so.12"})
    if (void* loaded = ::dlopen(library, RTLD_NOW | RTLD_NOLOAD))
      if (void* found = ::dlsym(loaded, name)) return reinterpret_cast<Function>(found);
  return nullptr;
}

int runtimes_malloc(void** address, size_t bytes) {
  static const auto function = runtimes<int (*)(void**, size_t)>("cudaMalloc");
  return function == nullptr ? kNoRuntime : function(address, bytes);
}

int runtimes_free(void* address) {
  static const auto function = runtimes<int (*)(void*)>("cudaFree");
  return function == nullptr ? kNoRuntime : function(address);
}

struct Segment {
  uint64_t number = 0;
  size_t bytes = 0;
  Address handle = 0;
};

// A segment's memory is its handle's, mapped at an address. Each step that fails undoes those before it.
class Segments {
 public:
  bool ready() const { return driver_.complete; }

  int make(void** address, size_t asked) {
    Properties wanted{};
    wanted.type = kPinned;
    wanted.handle_types = kPosixDescriptor;
    wanted.location.type = kDevice;
    size_t page = 0;
    if (int error = driver_.current_device(&wanted.location.id)) return error;
    if (int error = driver_.granularity(&page, &wanted, 0)) return error;
    Segment made{.number = 0, .bytes = (asked + page - 1) / page * page, .handle = 0};
    if (int error = driver_.create(&made.handle, made.bytes, &wanted, 0)) return error;
    Address at = 0;
    if (int error = map(made, wanted.location, at)) {
      driver_.release(made.handle);
      return error;
    }
    const std::lock_guard lock(mutex_);
    made.number = ++numbers_;
    segments_[at] = made;
    *address = reinterpret_cast<void*>(at);
    return 0;
  }

  // Whether it was one.
  bool release(void* address) {
    const Address at = Address(address);
    Segment gone;
    {
      const std::lock_guard lock(mutex_);
      const auto found = segments_.find(at);
      if (found == segments_.end()) return false;
      gone = found->second;
      segments_.erase(found);
    }
    driver_.synchronize();  // as the runtime's function does: kernels may still use it
    driver_.unmap(at, gone.bytes);
    driver_.free(at, gone.bytes);
    driver_.release(gone.handle);
    return true;
  }

  bool at(const void* address, uint64_t& number, uint64_t& offset, uint64_t& bytes) {
    const std::lock_guard lock(mutex_);
    auto after = segments_.upper_bound(Address(address));
    if (after == segments_.begin()) return false;
    const auto& [first, segment] = *--after;
    if (Address(address) - first >= segment.bytes) return false;
    number = segment.number, offset = Address(address) - first, bytes = segment.bytes;
    return true;
  }

  int export_one(uint64_t number) {
    const std::lock_guard lock(mutex_);
    for (const auto& [address, segment] : segments_) {
      int descriptor = -1;
      if (segment.number == number)
        return driver_.export_handle(&descriptor, segment.handle, kPosixDescriptor, 0) == 0 ? descriptor : -1;
    }
    return -1;
  }

 private:
  int map(const Segment& made, const Location& location, Address& at) {
    if (int error = driver_.reserve(&at, made.bytes, 0, 0, 0)) return error;
    int error = driver_.map(at, made.bytes, 0, made.handle, 0);
    if (error == 0) {
      const Access access{location, kReadAndWrite};
      error = driver_.set_access(at, made.bytes, &access, 1);
      if (error != 0) driver_.unmap(at, made.bytes);
    }
    if (error != 0) driver_.free(at, made.bytes);
    return error;
  }

  Driver driver_;
  std::mutex mutex_;
  std::map<Address, Segment> segments_;
  uint64_t numbers_ = 0;
};

// Never destroyed: the runtime frees memory while the process ends.
Segments& segments() {
  static Segments& all = *new Segments;
  return all;
}

}  // namespace

extern "C" {

int cudaMalloc(void** address, size_t bytes) {
  if (bytes < kLeastSegmentBytes || !segments().ready()) return runtimes_malloc(address, bytes);
  // The runtime makes the context current that the driver's calls need, once in each thread.
  static thread_local const int begun = runtimes_free(nullptr);
  if (begun != 0) return begun;
  return segments().make(address, bytes) == 0 ? 0 : kOutOfMemory;
}

int cudaFree(void* address) {
  if (address != nullptr && segments().ready() && segments().release(address)) return 0;
  return runtimes_free(address);
}

int temper_segment_at(const void* address, uint64_t* number, uint64_t* offset, uint64_t* bytes) {
  return segments().at(address, *number, *offset, *bytes) ? 1 : 0;
}

int temper_segment_export(uint64_t number) { return segments().export_one(number); }
}
