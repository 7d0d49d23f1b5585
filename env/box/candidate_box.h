#pragma once
// The last steps of one of our processes before it runs a candidate.

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/process.h"

namespace temper::env {

inline constexpr const char* kCandidateObject = "/candidate.so";  // in the private root

struct CandidateBox {
  Fd object;  // kCandidateObject, empty and writable
  bool user_dropped = false;
};

// An empty root, limits, no privileges, the candidates' filter; abort() ends the process; what must fail is
// tried. Errors: WorldError naming the step.
CandidateBox lock_up(int64_t memory_bytes, int64_t cpu_s, uid_t user);

// Writes the object and loads it: null and the loader's words if it cannot be. Runs the candidate's
// constructors.
void* load_object(Fd file, const uint8_t* object, int64_t bytes, std::string& error);

}  // namespace temper::env
