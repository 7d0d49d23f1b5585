#pragma once
// Files: whole reads, crash-safe writes, digests.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/process.h"

namespace temper {

// The whole file. Errors: WorldError naming the path.
std::string read_file(const std::filesystem::path& path);

// A new file, in place of one that may be there. Errors of all: WorldError naming the path.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);
  void write(const void* data, size_t size);                     // behind what write() wrote before
  void write_at(uint64_t begin, const void* data, size_t size);  // any thread may call it
  void close();                                                  // only what was closed is on the disk

 private:
  std::filesystem::path path_;
  Fd fd_;
  uint64_t position_ = 0;  // where write() continues
};

// A file that grows: a record goes in whole or not at all.
class AppendFile {
 public:
  AppendFile() = default;
  explicit AppendFile(std::filesystem::path path);  // made where it is not there
  void append(std::string_view record);             // on the way to the disk at the return
  explicit operator bool() const { return bool(fd_); }

 private:
  std::filesystem::path path_;
  Fd fd_;
};

// Written and fsynced. Errors: as above.
void write_file(const std::filesystem::path& path, std::string_view content);

// Writes a temporary file, syncs it and renames it: readers see the old file or the complete new one.
// Errors: WorldError naming the path (disk full, read-only, …); the old file is then unchanged.
void write_file_atomic(const std::filesystem::path& path, std::string_view content);

// Names are on the disk when their folder is. Errors: WorldError naming the path.
void make_folder(const std::filesystem::path& path);  // must not exist
void rename_path(const std::filesystem::path& from, const std::filesystem::path& to);
void sync_path(const std::filesystem::path& path);  // a file's content, a folder's names
// Exchanges the two names atomically: at every moment both exist. False if the file system cannot do that.
bool exchange_paths(const std::filesystem::path& from, const std::filesystem::path& to);
void cut_file(const std::filesystem::path& path, uint64_t bytes);
// Renames the folder first, so that what a crash leaves of it is not taken for the complete folder.
void remove_folder(const std::filesystem::path& path);

// From now on `guard` is called before each system call above that changes something in `folder`. What it returns lives
// until the call is done; if it throws, nothing is changed. Null ends this.
using WriteGuard = std::function<std::shared_ptr<void>()>;
void guard_writes(const std::filesystem::path& folder, WriteGuard guard);
// Calls the guard of the path's folder, for code that changes something there by other means.
std::shared_ptr<void> guarded(const std::filesystem::path& path);

// For tests: sets a function that is called before each system call above that changes the disk, with the call's name
// and path.
void watch_file_calls(std::function<void(const char* call, const std::filesystem::path& path)> watcher);

// Lower-case hex SHA-256.
std::string sha256(std::string_view content);

std::string sha256_of_file(const std::filesystem::path& path);  // Errors: WorldError naming the path

// The digest of data that arrives in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void add(const void* data, size_t size);
  std::string hex();  // once, at the end

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The folder of the running executable.
std::filesystem::path executable_dir();

// Free bytes on the file system that holds `path`.
uint64_t free_disk_bytes(const std::filesystem::path& path);

}  // namespace temper
