#pragma once
// The system's C++ compiler driver, asked for what it would run.

#include <string>
#include <vector>

#include "base/machine/child_process.h"

namespace temper::env {

using Command = std::vector<std::string>;

class CxxDriver {
 public:
  // $CXX, else g++. Errors of all: WorldError saying what to install.
  CxxDriver();
  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  Command compiler(const std::string& arguments) const;  // the command of one run of the compiler proper
  Command precompiling(
      const std::string& to) const;  // what makes that run write a precompiled header instead
  Command assembler(const std::string& from, const std::string& to) const;
  Command linker(const std::string& from, const std::string& to, const std::string& entry) const;

 private:
  std::string program(const std::string& name) const;
  std::string file(const std::string& name) const;
  std::string name_, version_;
};

std::string first_line(const std::string& text);

// Words as drivers print them: bare or in double quotes.
std::vector<std::string> split_words(const std::string& line);

}  // namespace temper::env
