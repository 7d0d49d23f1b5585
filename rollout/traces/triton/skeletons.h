#pragma once
// The kernels and launchers of each skeleton (program.h), in the ways that style.h names. One file each.

#include "rollout/traces/triton/writer.h"

namespace temper::traces {

void write_map(TritonWriter& out);
void write_rows(TritonWriter& out);
void write_columns(TritonWriter& out);
void write_whole(TritonWriter& out);
void write_scan(TritonWriter& out);
void write_product(TritonWriter& out);

}  // namespace temper::traces
