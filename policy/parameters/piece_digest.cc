#include "policy/parameters/piece_digest.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "policy/ranks/activity.h"
#include "policy/threads.h"

namespace temper::policy {
namespace {

std::string digest_of_range(const Fd& file, uint64_t begin, uint64_t end, const std::string& name) {
  std::vector<char> chunk(1 << 20);
  Sha256 digest;
  while (begin < end) {
    const ssize_t n =
        ::pread(file.get(), chunk.data(), std::min<uint64_t>(chunk.size(), end - begin), off_t(begin));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error(fmt::format("read {}", name));
    if (n == 0) throw WorldError("{}: became shorter while it was read", name);
    digest.add(chunk.data(), size_t(n));
    begin += uint64_t(n);
  }
  made_progress();
  return digest.hex();
}

}  // namespace

std::string digest_of_pieces(const std::vector<std::string>& piece_digests) {
  std::string all;
  for (const std::string& digest : piece_digests) all += digest;
  return sha256(all);
}

std::string digest_of_pieces(const std::filesystem::path& path, int threads) {
  const std::string name = path.string();
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw system_error(fmt::format("open {}", name));
  const uint64_t bytes = std::filesystem::file_size(path);
  std::vector<std::string> digests((bytes + kDigestPieceBytes - 1) / kDigestPieceBytes);
  on_threads(int64_t(digests.size()), threads, [&](int64_t piece, int) {
    const uint64_t begin = uint64_t(piece) * kDigestPieceBytes;
    digests[size_t(piece)] = digest_of_range(file, begin, std::min(begin + kDigestPieceBytes, bytes), name);
  });
  return digest_of_pieces(digests);
}

}  // namespace temper::policy
