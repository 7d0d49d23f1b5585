#pragma once
// Memory of a GPU that its process can give to another one. The library is loaded before CUDA's runtime (LD_PRELOAD) into the
// processes of modules, and stands in for two of its functions: what torch asks for in large pieces, its segments, becomes memory
// of the driver's that can be exported. The reference then reads a candidate's results where they lie, and no code of the
// candidate's takes part in handing them over.
//
// Nothing here is trusted: it runs where candidates do. Who lies about a place shows other bytes as its result.

#include <cstddef>
#include <cstdint>

#define TEMPER_FOR_PYTHON __attribute__((visibility("default")))

extern "C" {

// As CUDA's runtime has them. Pieces below kLeastSegmentBytes, and those of processes without the driver's library, are the
// runtime's own.
TEMPER_FOR_PYTHON int cudaMalloc(void** address, size_t bytes);
TEMPER_FOR_PYTHON int cudaFree(void* address);

// The segment that holds the address: its number, which no other one gets, how far into it the address lies, and its length. Gives
// 1, or 0 where there is none.
TEMPER_FOR_PYTHON int temper_segment_at(const void* address, uint64_t* number, uint64_t* offset,
                                        uint64_t* bytes);
// A new descriptor of the segment's memory, which the caller closes; -1 where that cannot be.
TEMPER_FOR_PYTHON int temper_segment_export(uint64_t number);
}
