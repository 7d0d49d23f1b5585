#pragma once
// What compilers made of a candidate's texts, kept for others that have the same text. A file's name is the digest of all that it
// was made of, so that whoever writes a text decides on nothing but its own file.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace temper::env {

class ObjectCache {
 public:
  // Processes of the same user share the folder, which is made where it is not there; nobody else can read it or write to it. An
  // empty name keeps nothing. `bytes` is what all files may have together. Errors: WorldError.
  ObjectCache(std::filesystem::path folder, int64_t bytes);

  // Nothing too where the file is not what was kept; then it is gone. `digest`: hexadecimal digits.
  std::optional<std::string> find(const std::string& digest) const;

  // The files that were used longest ago make room. One that is larger than a sixteenth of all is not kept, nor is one for which the
  // disk has no place.
  void keep(const std::string& digest, const std::string& content) const;

 private:
  void make_room() const;

  std::filesystem::path folder_;
  int64_t bytes_;
};

}  // namespace temper::env
