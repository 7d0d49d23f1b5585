#pragma once
// A folder for what the processes of one run share, and for no longer.

#include <filesystem>

#include "base/process.h"

namespace temper {

// Removed with the object. What a killed process has left the next one removes.
class ScratchFolder {
 public:
  // "temper-NAME-…" below /var/tmp, readable by all. Errors: WorldError.
  explicit ScratchFolder(const std::string& name);
  ScratchFolder(ScratchFolder&&) = delete;
  ~ScratchFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Fd lock_;  // held while it is in use
};

}  // namespace temper
