#pragma once
// Which part of a language's writer writes a program: one for each skeleton.

#include <optional>
#include <string>

#include "rollout/traces/program.h"

namespace temper::traces {

// `Writer` has a function of each name below that takes it.
template <class Writer>
std::optional<std::string> write_skeleton(Writer&& out) {
  switch (out.program.skeleton) {
    case Skeleton::kMap:
      write_map(out);
      break;
    case Skeleton::kRow:
    case Skeleton::kSoftmax:
      write_rows(out);
      break;
    case Skeleton::kColumn:
      write_columns(out);
      break;
    case Skeleton::kFull:
      write_whole(out);
      break;
    case Skeleton::kScan:
      write_scan(out);
      break;
    case Skeleton::kMatmul:
      write_product(out);
      break;
  }
  return out.finish();
}

}  // namespace temper::traces
