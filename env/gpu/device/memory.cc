#include "env/gpu/device/memory.h"

#include <algorithm>

namespace temper::env {
namespace {

constexpr auto kHandle = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

// Allocation properties for the GPU whose context is current. Each process uses only one.
CUmemAllocationProp properties() {
  CUmemAllocationProp wish{};
  wish.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wish.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUdevice device = 0;
  TEMPER_GPU(cuCtxGetDevice, &device);
  wish.location.id = device;
  wish.requestedHandleTypes = kHandle;
  return wish;
}

size_t whole_pages(int64_t bytes) {
  size_t page = 0;
  const CUmemAllocationProp wish = properties();
  TEMPER_GPU(cuMemGetAllocationGranularity, &page, &wish, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  return (size_t(std::max<int64_t>(bytes, 1)) + page - 1) / page * page;
}

void map_at(CUdeviceptr address, size_t size, CUmemGenericAllocationHandle handle) {
  TEMPER_GPU(cuMemMap, address, size, 0, handle, 0);
  const CUmemAccessDesc access{properties().location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  TEMPER_GPU(cuMemSetAccess, address, size, &access, 1);
}

}  // namespace

SharedGpuMemory SharedGpuMemory::make(int64_t bytes) {
  SharedGpuMemory memory;
  const CUmemAllocationProp wish = properties();
  TEMPER_GPU(cuMemCreate, &memory.handle_, whole_pages(bytes), &wish, 0);
  memory.map_handle(bytes);
  return memory;
}

SharedGpuMemory SharedGpuMemory::map(int descriptor, int64_t bytes) {
  SharedGpuMemory memory;
  TEMPER_GPU(cuMemImportFromShareableHandle, &memory.handle_, reinterpret_cast<void*>(intptr_t(descriptor)),
             kHandle);
  memory.map_handle(bytes);
  return memory;
}

void SharedGpuMemory::map_handle(int64_t bytes) {
  bytes_ = bytes;
  const size_t size = whole_pages(bytes);
  TEMPER_GPU(cuMemAddressReserve, &data_, size, 0, 0, 0);
  map_at(data_, size, handle_);
}

Fd SharedGpuMemory::descriptor() const {
  int descriptor = -1;
  TEMPER_GPU(cuMemExportToShareableHandle, &descriptor, handle_, kHandle, 0);
  return Fd(descriptor);
}

// A gap is as large as a window.
GpuWindows::GpuWindows(int count, int64_t bytes) : count_(count) {
  const size_t size = whole_pages(bytes);
  sizes_ = {int64_t(size), int64_t(2 * size)};
  CUdeviceptr reserved = 0;
  TEMPER_GPU(cuMemAddressReserve, &reserved, (2 * size_t(count) + 1) * size, 0, 0, 0);
  data_ = reserved + size;
  const CUmemAllocationProp wish = properties();
  for (int i = 0; i < count; ++i) {
    CUmemGenericAllocationHandle handle = 0;
    TEMPER_GPU(cuMemCreate, &handle, size, &wish, 0);
    map_at(data_ + CUdeviceptr(i) * CUdeviceptr(sizes_.stride), size, handle);
  }
}

}  // namespace temper::env
