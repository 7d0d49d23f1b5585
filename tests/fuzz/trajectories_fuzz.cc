// A file of trajectories with the digest that fits it, as whoever changes one can write it.

#include <cstring>
#include <exception>

#include "base/files.h"
#include "rollout/trajectory_columns.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper::rollout {

namespace {

std::string with_its_digest(std::string bytes) {
  constexpr std::string_view kKey = "\"sha256\":\"";
  constexpr size_t kDigits = 64;
  const size_t key = bytes.find(kKey), at = key + kKey.size();
  if (key == std::string::npos || bytes.size() < at + kDigits || bytes.size() < 8) return bytes;
  uint64_t length;
  std::memcpy(&length, bytes.data(), 8);
  if (length % 8 != 0 || length > bytes.size() - 8) return bytes;
  bytes.replace(at, kDigits, kDigits, '0');
  return bytes.replace(at, kDigits, sha256(std::string_view(bytes).substr(8)));
}

}  // namespace

FUZZ_TARGET(trajectories) {
  std::vector<Trajectory> read;
  try {
    read = from_columns(with_its_digest(std::string(bytes)));
  } catch (const WorldError&) {
    throw;
  } catch (const std::exception&) {  // rollout/trajectory_file.cc names the file
    return;
  }
  std::vector<const Trajectory*> pointers;
  for (const Trajectory& one : read) pointers.push_back(&one);
  TEMPER_CHECK(from_columns(to_columns(pointers, ColumnForm::kRanks)).size() == read.size());
}

}  // namespace temper::rollout
