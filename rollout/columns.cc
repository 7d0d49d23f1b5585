#include "rollout/columns.h"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/input/json.h"
#include "base/input/printable.h"

namespace temper::rollout {
namespace {

using Json = nlohmann::json;

static_assert(std::endian::native == std::endian::little, "columns lie on the disk as they lie in memory");

constexpr size_t kAlign = 64, kLengthBytes = 8;
constexpr size_t kMostHeaderBytes = 16 << 20;
constexpr int64_t kMostUnpackedBytes = int64_t(1) << 32;
constexpr int kLevel = 3;
// Stands where the digest of header and data will stand, while it is computed.
const std::string kNoDigest(64, '0');
constexpr const char *kDigest = "sha256", *kFrames = "zstd", *kNotes = "__metadata__";

std::string compressed(std::span<const std::byte> data) {
  std::string frame(ZSTD_compressBound(data.size()), '\0');
  const size_t size = ZSTD_compress(frame.data(), frame.size(), data.data(), data.size(), kLevel);
  TEMPER_CHECK(!ZSTD_isError(size), "{}", ZSTD_getErrorName(size));
  frame.resize(size);
  return frame;
}

int64_t width_of(const std::string& dtype) {
  const std::map<std::string, int64_t> widths = {{"U8", 1}, {"I32", 4}, {"F32", 4}, {"I64", 8}, {"F64", 8}};
  const auto found = widths.find(dtype);
  if (found == widths.end()) throw ConfigError("dtype '{}' is unknown", printable(dtype));
  return found->second;
}

int64_t length_of(const Json& json) {
  const int64_t length = whole_number(json).value_or(-1);
  if (length < 0) throw ConfigError("{} is not a length", shown(json));
  return length;
}

const std::string& text_of(const Json& json) {
  if (!json.is_string()) throw ConfigError("a {} where a text is expected", json.type_name());
  return json.get_ref<const std::string&>();
}

const Json& element(const Json& json, size_t index, size_t size) {
  if (!json.is_array() || json.size() != size) throw ConfigError("not a list of {}", size);
  return json[index];
}

const Json& field(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end()) throw ConfigError("it has no {}", name);
  return *found;
}

}  // namespace

void ColumnWriter::add(const std::string& name, const char* dtype, size_t width,
                       std::span<const std::byte> numbers, bool compress) {
  Column column{name, dtype, width, numbers, compress, compress ? compressed(numbers) : ""};
  const auto wider = [&](const Column& other) { return other.stored_width() >= column.stored_width(); };
  columns_.insert(std::ranges::find_if_not(columns_, wider), std::move(column));
}

std::string ColumnWriter::header(const std::string& digest) const {
  Json json, frames = Json::object();
  size_t at = 0;
  for (const Column& c : columns_) {
    const size_t size = c.data().size();
    json[c.name] = {{"dtype", c.packed ? "U8" : c.dtype},
                    {"shape", {size / c.stored_width()}},
                    {"data_offsets", {at, at + size}}};
    if (c.packed) frames[c.name] = {c.dtype, c.numbers.size() / c.width};
    at += size;
  }
  json[kNotes] = notes_;
  json[kNotes][kFrames] = frames.dump();
  json[kNotes][kDigest] = digest;
  std::string text = json.dump();
  text.resize((kLengthBytes + text.size() + kAlign - 1) / kAlign * kAlign - kLengthBytes, ' ');
  return text;
}

std::string ColumnWriter::file() const {
  Sha256 digest;
  std::string head = header(kNoDigest);
  digest.add(head.data(), head.size());
  size_t size = 0;
  for (const Column& c : columns_) digest.add(c.data().data(), c.data().size()), size += c.data().size();
  head.replace(head.find(kNoDigest), kNoDigest.size(), digest.hex());
  const uint64_t length = head.size();
  std::string bytes;
  bytes.reserve(kLengthBytes + head.size() + size);
  bytes.append(reinterpret_cast<const char*>(&length), kLengthBytes).append(head);
  for (const Column& c : columns_)
    bytes.append(reinterpret_cast<const char*>(c.data().data()), c.data().size());
  return bytes;
}

ColumnReader::ColumnReader(std::string bytes) : bytes_(std::move(bytes)) {
  read_header();
  for (const auto& [column, frame] : read_frames()) unpack(column, frame);
}

void ColumnReader::read_header() {
  uint64_t length = 0;
  if (bytes_.size() < kLengthBytes) throw ConfigError("broken off after {} bytes", bytes_.size());
  std::memcpy(&length, bytes_.data(), kLengthBytes);
  if (length > kMostHeaderBytes || length % alignof(int64_t) != 0)
    throw ConfigError("not a file of columns: its header has {} bytes", length);
  if (length > bytes_.size() - kLengthBytes) throw ConfigError("broken off after {} bytes", bytes_.size());
  const std::string_view head = std::string_view(bytes_).substr(kLengthBytes, length);
  const Json json = parse_json_object(head, "not a file of columns: its header", {.bytes = kMostHeaderBytes});
  const std::span data = std::as_bytes(std::span(bytes_)).subspan(kLengthBytes + length);
  for (const auto& [column, about] : json.items())
    if (column != kNotes) columns_[column] = column_from(column, about, data);
  for (const auto& [key, value] : field(json, kNotes).items()) notes_[key] = text_of(value);
  check_digest(std::string(head), data);
}

void ColumnReader::check_digest(std::string head, std::span<const std::byte> data) const {
  const std::string& said = note(kDigest);
  const size_t at = head.find(said);
  if (at == std::string::npos || said.size() != kNoDigest.size()) throw ConfigError("its digest is none");
  head.replace(at, said.size(), kNoDigest);
  Sha256 digest;
  digest.add(head.data(), head.size());
  digest.add(data.data(), data.size());
  if (digest.hex() != said) throw ConfigError("broken off or changed: it has another digest");
}

// A column's numbers, where they are not packed, lie where a pointer to them may point.
ColumnReader::Column ColumnReader::column_from(const std::string& column, const Json& about,
                                               std::span<const std::byte> data) const {
  const std::string& dtype = text_of(field(about, "dtype"));
  const Json& offsets = field(about, "data_offsets");
  const int64_t begin = length_of(element(offsets, 0, 2)), end = length_of(element(offsets, 1, 2)),
                count = length_of(element(field(about, "shape"), 0, 1)), width = width_of(dtype);
  if (end > int64_t(data.size()))
    throw ConfigError("broken off after {} bytes, in {}", bytes_.size(), column);
  if (begin > end || begin % width != 0 || (end - begin) % width != 0 || (end - begin) / width != count)
    throw ConfigError("{}: {} numbers of {} do not fill [{}, {})", column, count, dtype, begin, end);
  return {dtype, data.subspan(size_t(begin), size_t(end - begin))};
}

std::map<std::string, ColumnReader::Frame> ColumnReader::read_frames() const {
  std::map<std::string, Frame> frames;
  const Json json = parse_json_object(note(kFrames), fmt::format("its note {}", kFrames));
  for (const auto& [column, about] : json.items())
    frames[column] = {text_of(element(about, 0, 2)), length_of(element(about, 1, 2))};
  return frames;
}

void ColumnReader::unpack(const std::string& column, const Frame& frame) {
  const std::span<const std::byte> packed = find(column, column_dtype<uint8_t>());
  const int64_t width = width_of(frame.dtype);
  if (frame.length > kMostUnpackedBytes / width ||
      ZSTD_getFrameContentSize(packed.data(), packed.size()) != uint64_t(frame.length * width))
    throw ConfigError("{}: its frame does not hold {} numbers of {}", column, frame.length, frame.dtype);
  std::vector<std::byte>& numbers = unpacked_[column];
  numbers.resize(size_t(frame.length * width));
  const size_t size = ZSTD_decompress(numbers.data(), numbers.size(), packed.data(), packed.size());
  if (ZSTD_isError(size) || size != numbers.size())
    throw ConfigError("{}: its frame is damaged: {}", column, ZSTD_getErrorName(size));
  columns_[column] = {frame.dtype, numbers};
}

std::span<const std::byte> ColumnReader::find(const std::string& name, const char* dtype) const {
  const auto found = columns_.find(name);
  if (found == columns_.end()) throw ConfigError("it has no column {}", name);
  if (found->second.dtype != dtype)
    throw ConfigError("{} is of {}, not {}", name, found->second.dtype, dtype);
  return found->second.data;
}

const std::string& ColumnReader::note(const std::string& key) const {
  const auto found = notes_.find(key);
  if (found == notes_.end()) throw ConfigError("it has no note {}", key);
  return found->second;
}

std::string_view ColumnReader::text(const std::string& name) const {
  const std::span<const uint8_t> bytes = numbers<uint8_t>(name);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace temper::rollout
