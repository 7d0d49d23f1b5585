#pragma once
// Digests of large files that several threads can compute together: the SHA-256 of the concatenated SHA-256 digests,
// in hex, of pieces of 64 MiB.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace temper::policy {

inline constexpr uint64_t kDigestPieceBytes = 64 << 20;

std::string digest_of_pieces(const std::vector<std::string>& piece_digests);

// The digest of an existing file. Errors: WorldError naming the path.
std::string digest_of_pieces(const std::filesystem::path& path, int threads);

}  // namespace temper::policy
