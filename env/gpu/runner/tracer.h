#pragma once
// CUPTI's records of this process's work on its GPU. The library is loaded on first use.

#include <vector>

#include "env/gpu/profile.h"

namespace temper::env {

class Tracer {
 public:
  // Records from now on. One a process. Errors: WorldError in a line, without CUPTI or where it may not be
  // used.
  Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  // The records of all work that has ended since the last call; the caller has waited for that work. CUPTI may deliver
  // times late. With `all`, records without times are returned now, otherwise by a later call. Errors: WorldError.
  std::vector<DeviceRecord> take(bool all = false);
  uint64_t now_ns() const;  // by the clock of the records. Errors: WorldError
};

}  // namespace temper::env
