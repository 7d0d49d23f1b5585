#pragma once
// Files: whole reads, crash-safe writes, digests.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace temper {

// The whole file. Errors: WorldError naming the path.
std::string read_file(const std::filesystem::path& path);

// Written beside, fsynced and renamed: readers see the old file or the new one, never half of one.
// Errors: WorldError naming the path (disk full, read-only, …); the old file is then still there.
void write_file_atomic(const std::filesystem::path& path, std::string_view content);

// Lower-case hex SHA-256.
std::string sha256(std::string_view content);

// The folder of the running executable.
std::filesystem::path executable_dir();

// Free bytes on the file system that holds `path`.
uint64_t free_disk_bytes(const std::filesystem::path& path);

}  // namespace temper
