#pragma once
// What this process does on its GPU, as CUPTI records it. The library is loaded when it is asked for.

#include <vector>

#include "env/gpu/profile.h"

namespace temper {

class Tracer {
 public:
  // Records from now on. One a process. Errors: WorldError in a line, without CUPTI or where it may not be
  // used.
  Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  // Of all work that has ended since the last call; the caller has waited for it. CUPTI may be late with its
  // times: `all` takes records that have none, else they come with a later call. Errors: WorldError.
  std::vector<DeviceRecord> take(bool all = false);
  uint64_t now_ns() const;  // by the clock of the records. Errors: WorldError
};

}  // namespace temper
