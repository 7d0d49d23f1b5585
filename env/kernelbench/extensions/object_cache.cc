#include "env/kernelbench/extensions/object_cache.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/files.h"

namespace temper::env {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kLargestPart = 16;

// What stands before the content, and is none's but this file's.
std::string seal(const std::string& digest, std::string_view content) {
  return sha256(digest + sha256(content)) + "\n";
}

}  // namespace

ObjectCache::ObjectCache(fs::path folder, int64_t bytes) : folder_(std::move(folder)), bytes_(bytes) {
  if (folder_.empty()) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  if (!error) fs::permissions(folder_, fs::perms::owner_all, error);
  if (error) throw WorldError("cannot make {}: {}", folder_.string(), error.message());
}

std::optional<std::string> ObjectCache::find(const std::string& digest) const {
  std::error_code error;
  if (folder_.empty() || !fs::exists(folder_ / digest, error)) return std::nullopt;
  try {
    std::string text = read_file(folder_ / digest);
    const size_t begin = std::min(text.size(), seal("", "").size());
    std::string content = text.substr(begin);
    if (text.substr(0, begin) != seal(digest, content)) throw WorldError("{} is not what was kept", digest);
    fs::last_write_time(folder_ / digest, fs::file_time_type::clock::now(), error);
    return content;
  } catch (const std::exception&) {
    fs::remove(folder_ / digest, error);
    return std::nullopt;
  }
}

void ObjectCache::keep(const std::string& digest, const std::string& content) const {
  if (folder_.empty() || std::ssize(content) > bytes_ / kLargestPart) return;
  try {
    write_file_atomic(folder_ / digest, seal(digest, content) + content);
    make_room();
  } catch (const std::exception&) {
    // the next one is compiled again
  }
}

// Other processes do the same at the same time: files may be gone before they are looked at.
void ObjectCache::make_room() const {
  struct Entry {
    fs::file_time_type used;
    int64_t bytes;
    fs::path path;
  };
  std::vector<Entry> entries;
  int64_t held = 0;
  std::error_code error;
  for (const fs::directory_entry& file : fs::directory_iterator(folder_)) {
    const fs::file_time_type used = file.last_write_time(error);
    const auto bytes = error ? 0 : int64_t(file.file_size(error));
    if (error) continue;
    entries.push_back({used, bytes, file.path()});
    held += bytes;
  }
  if (held <= bytes_) return;
  std::ranges::sort(entries, {}, &Entry::used);
  for (const Entry& entry : entries) {
    if (held <= bytes_) return;
    fs::remove(entry.path, error);
    held -= entry.bytes;
  }
}

}  // namespace temper::env
