#pragma once
// Digests of large files that several threads can make together: SHA-256 of each piece of 64 MiB, and of
// these digests in hex, one behind the other, SHA-256 again.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace temper {

inline constexpr uint64_t kDigestPieceBytes = 64 << 20;

std::string digest_of_pieces(const std::vector<std::string>& piece_digests);

// Of a file that is there. Errors: WorldError naming the path.
std::string digest_of_pieces(const std::filesystem::path& path, int threads);

}  // namespace temper
