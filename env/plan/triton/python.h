#pragma once
// The Python that Triton candidates run in: the user's own, with torch and triton.

#include <string>
#include <vector>

namespace temper::env {

inline constexpr const char* kTritonVersion = "3.6";  // what is recorded of its launches is known of this one

struct TritonPython {
  std::string program;                // absolute path of the interpreter
  std::string python, torch, triton;  // versions: "3.11.7", "2.11.0+cu130", "3.6.0"
  std::vector<std::string> folders;   // all that it reads, absolute; none lies in another
};

// Versions in one line: part of every verdict's digest.
std::string description(const TritonPython& python);

// Asks the interpreter `chosen` what it has. If that is empty, it asks the one in TEMPER_PYTHON; without that, the one in
// .deps/venv beside the build and then python3 on PATH, and takes the first with torch and triton. Neither package is
// imported for it.
// Errors: WorldError saying what is missing and what to install.
TritonPython find_triton_python(const std::string& chosen);

// The library with which a Python process locks itself up, beside this program. Errors: WorldError if it is missing.
std::string lock_up_library();

}  // namespace temper::env
