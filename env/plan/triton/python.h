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
  std::string wheels;                 // folder of packages that it searches before its own; or empty
};

// Versions in one line: part of every verdict's digest.
std::string description(const TritonPython& python);

// The folders of wheels that hold this program's own torch: beside an unpacked archive, or where the build found it.
std::vector<std::string> own_wheels();

// Asks the interpreter `chosen` what it has. If that is empty, it asks the one in TEMPER_PYTHON; without that, the one in
// .deps/venv beside the build and then python3 on PATH, and takes the first with torch and triton. Each is asked alone and
// then with each of `wheels`. Neither package is imported for it.
// Errors: WorldError saying what is missing and what to install.
TritonPython find_triton_python(const std::string& chosen,
                                const std::vector<std::string>& wheels = own_wheels());

// Likewise the first with jinja2; it may lack torch and triton.
TritonPython find_jinja_python(const std::string& chosen,
                               const std::vector<std::string>& wheels = own_wheels());

// The interpreters that are asked where `chosen` is empty or not, in order; by path or as PATH has them.
std::vector<std::string> python_places(const std::string& chosen);

// The library with which a Python process locks itself up, beside this program. Errors: WorldError if it is missing.
std::string lock_up_library();

}  // namespace temper::env
