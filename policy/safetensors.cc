#include "policy/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/process.h"
#include "policy/activity.h"

namespace temper {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kLengthBytes = 8;

uint64_t element_bytes(const std::string& dtype) {
  static const std::map<std::string, uint64_t> sizes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},
      {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},     {"F64", 8},     {"I64", 8}, {"U64", 8}};
  const auto found = sizes.find(dtype);
  return found == sizes.end() ? 0 : found->second;
}

// JSON that names no key twice: which of two the reader believes is what an attacker would choose.
Json parse_strictly(const std::string& text, const std::string& path) {
  std::vector<std::set<std::string>> keys;
  std::string twice;
  const auto watch = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second)
      twice = value.get<std::string>();
    return true;
  };
  Json header;
  try {
    header = Json::parse(text, watch);
  } catch (const Json::exception& e) {
    throw ConfigError("{}: header is not JSON: {}", path, e.what());
  }
  if (!twice.empty()) throw ConfigError("{}: header names '{}' twice", path, twice);
  if (!header.is_object()) throw ConfigError("{}: header is not a JSON object", path);
  return header;
}

uint64_t unsigned_at(const Json& value, const std::string& where) {
  if (!value.is_number_unsigned())
    throw ConfigError("{}: {} is not a non-negative integer", where, value.dump());
  return value.get<uint64_t>();
}

const Json& field(const Json& entry, const char* name, const std::string& where) {
  if (!entry.is_object() || !entry.contains(name)) throw ConfigError("{}: has no {}", where, name);
  return entry[name];
}

struct Range {
  uint64_t begin, end;
  std::string name;
};

// `where` names file and tensor. Bytes are checked against the shape, the range against the data's size.
Range check_entry(const Json& entry, uint64_t data_bytes, const std::string& where, StoredTensor& tensor) {
  const Json &dtype = field(entry, "dtype", where), &shape = field(entry, "shape", where);
  const Json& offsets = field(entry, "data_offsets", where);
  if (!dtype.is_string() || element_bytes(dtype.get<std::string>()) == 0)
    throw ConfigError("{}: dtype {} is unknown", where, dtype.dump());
  if (!shape.is_array()) throw ConfigError("{}: shape {} is not a list", where, shape.dump());
  if (!offsets.is_array() || offsets.size() != 2)
    throw ConfigError("{}: data_offsets {} are not two numbers", where, offsets.dump());
  tensor.dtype = dtype.get<std::string>();
  uint64_t bytes = element_bytes(tensor.dtype);
  for (const Json& n : shape) {
    tensor.shape.push_back(int64_t(unsigned_at(n, where)));
    if (__builtin_mul_overflow(bytes, unsigned_at(n, where), &bytes) || bytes > INT64_MAX)
      throw ConfigError("{}: shape {} overflows", where, shape.dump());
  }
  const uint64_t begin = unsigned_at(offsets[0], where), end = unsigned_at(offsets[1], where);
  if (begin > end || end > data_bytes)
    throw ConfigError("{}: data_offsets {} lie outside the {} bytes of data", where, offsets.dump(),
                      data_bytes);
  if (end - begin != bytes)
    throw ConfigError("{}: {} of shape {} takes {} bytes, its data_offsets hold {}", where, tensor.dtype,
                      shape.dump(), bytes, end - begin);
  return {begin, end, {}};
}

void check_no_holes(std::vector<Range> ranges, uint64_t data_bytes, const std::string& path) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t at = 0;
  for (const Range& r : ranges) {
    if (r.begin != at)
      throw ConfigError("{}: tensor '{}' begins at byte {}, expected {}: {}", path, r.name, r.begin, at,
                        r.begin < at ? "tensors overlap" : "a hole in the data");
    at = r.end;
  }
  if (at != data_bytes) throw ConfigError("{}: tensors end at byte {} of {}", path, at, data_bytes);
}

std::string header_of(const std::map<std::string, StoredTensor>& tensors) {
  Json header = {{"__metadata__", {{"format", "pt"}}}};
  uint64_t at = 0;
  for (const auto& [name, t] : tensors) {
    header[name] = {{"dtype", t.dtype}, {"shape", t.shape}, {"data_offsets", {at, at + t.data.size()}}};
    at += t.data.size();
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw system_error(fmt::format("open {}", path.string()));
  struct stat info;
  if (::fstat(file.get(), &info) != 0) throw system_error(fmt::format("stat {}", path.string()));
  size_ = size_t(info.st_size);
  if (size_ < kLengthBytes) throw ConfigError("{}: {} bytes are no safetensors file", path.string(), size_);
  void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (mapped == MAP_FAILED) throw system_error(fmt::format("map {}", path.string()));
  data_ = static_cast<std::byte*>(mapped);
  try {
    read_header(path.string());
  } catch (...) {
    ::munmap(data_, size_);
    throw;
  }
}

SafetensorsFile::~SafetensorsFile() {
  if (data_) ::munmap(data_, size_);
}

SafetensorsFile::SafetensorsFile(SafetensorsFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(other.size_), tensors_(std::move(other.tensors_)) {}

void SafetensorsFile::read_header(const std::string& path) {
  uint64_t length;
  std::memcpy(&length, data_, kLengthBytes);
  if (length > kMaxHeaderBytes || length > size_ - kLengthBytes)
    throw ConfigError("{}: header of {} bytes in a file of {} (truncated, or no safetensors file)", path,
                      length, size_);
  const Json header =
      parse_strictly({reinterpret_cast<const char*>(data_) + kLengthBytes, size_t(length)}, path);
  const std::byte* data = data_ + kLengthBytes + length;
  const uint64_t data_bytes = size_ - kLengthBytes - length;
  std::vector<Range> ranges;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    StoredTensor& tensor = tensors_[name];
    Range range = check_entry(entry, data_bytes, fmt::format("{}: tensor '{}'", path, name), tensor);
    tensor.data = {data + range.begin, size_t(range.end - range.begin)};
    range.name = name;
    ranges.push_back(std::move(range));
  }
  check_no_holes(std::move(ranges), data_bytes, path);
}

void write_safetensors(const std::filesystem::path& path, const std::map<std::string, StoredTensor>& tensors,
                       Sha256* digest) {
  OutputFile file(path);
  const auto write = [&](const void* data, size_t size) {
    file.write(data, size);
    if (digest) digest->add(data, size);
    made_progress();
  };
  const std::string header = header_of(tensors);
  const uint64_t length = header.size();
  write(&length, kLengthBytes);
  write(header.data(), header.size());
  for (const auto& [name, tensor] : tensors) write(tensor.data.data(), tensor.data.size());
  file.close();
}

}  // namespace temper
