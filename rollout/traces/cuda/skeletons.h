#pragma once
// The kernels and launchers of each skeleton (program.h), in the ways that style.h names. One file each.

#include <string>
#include <vector>

#include "rollout/traces/cuda/writer.h"

namespace temper::traces {

void write_map(CudaWriter& out);
void write_rows(CudaWriter& out);
void write_columns(CudaWriter& out);
void write_whole(CudaWriter& out);
void write_scan(CudaWriter& out);
void write_product(CudaWriter& out);

// ---- shared by them ----

// `float total(float v)` and its like for each kind of reduction among the steps: the result of all threads
// of a block (way kBlockTree: by a tree) or, with `warps`, of a warp. Blocks have 256 threads.
void write_helpers(CudaWriter& out, bool warps);
// "total(s)"
std::string reduced(const ReductionStep& step, const std::string& value);

// Reads inputs of the output's shape at the flat index. `decoded` becomes true where row and column are
// needed.
void read_flat(CudaWriter& out, const std::string& flat, bool& decoded);
// `int i = k / m, j = k % m;`
void decode(CudaWriter& out, const std::string& flat);

// Whether accesses of 16 bytes per thread are possible: every input is read at the place that is written, or along one
// of its dimensions.
bool can_be_vectors(const Program& program);
// The input that is read transposed, if it is one and a matrix; or "".
std::string transposed_input(const Program& program);

}  // namespace temper::traces
