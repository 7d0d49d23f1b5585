#pragma once
// Parquet, by a Python with pyarrow in a process of its own.

#include <filesystem>
#include <string>
#include <vector>

#include "base/input/rows/byte_source.h"
#include "base/machine/child_process.h"

namespace temper {

// The rows of a table, each as a line of JSON. Numbers that are not finite become texts, and so do values for which JSON
// has no form. A Python reads the table, and holds about one row group in memory.
class ParquetBytes : public ByteSource {
 public:
  // `pythons`: interpreters, tried one after another, by path or as PATH has them. Errors: ConfigError without the
  // file's name if none has pyarrow, with the command that installs it.
  ParquetBytes(const std::filesystem::path& file, const std::vector<std::string>& pythons);
  size_t read(char* to, size_t most) override;

 private:
  void start(const std::string& python, const std::string& file);
  bool begins();

  ChildProcess process_;
  Fd rows_, errors_;
  bool ended_ = false;
};

}  // namespace temper
