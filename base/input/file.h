#pragma once
// Files that a user names or a stranger wrote: regular ones alone, of a size that is known before they are
// read.

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/process.h"

namespace temper {

struct InputFile {
  Fd fd;
  uint64_t bytes;
};

// Never waits, whatever lies there. Errors: ConfigError naming the path if there is none, if it is no regular file or
// if Git LFS left a pointer in its place; WorldError where the machine fails.
InputFile open_input_file(const std::filesystem::path& path);

// The whole file. Errors: as above, and ConfigError if it is larger.
std::string read_input_file(const std::filesystem::path& path, uint64_t most_bytes);

}  // namespace temper
