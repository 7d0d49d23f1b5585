#include "base/input/rows/rows.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <set>

#include "base/error.h"
#include "base/input/file.h"
#include "base/input/printable.h"
#include "base/input/rows/foreign_files.h"
#include "base/input/rows/parquet.h"
#include "base/input/rows/row_events.h"

namespace temper {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr size_t kMostPathBytes = 100;  // in a message
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

struct Enough {};  // thrown where no more rows are wanted

std::string beginning_of(const InputFile& file) {
  std::string begin(std::min<uint64_t>(file.bytes, kTellingBytes), '\0');
  const ssize_t n = ::pread(file.fd.get(), begin.data(), begin.size(), 0);
  if (n < 0) throw system_error("read");
  begin.resize(size_t(n));
  return begin;
}

std::unique_ptr<ByteSource> source_of(const fs::path& path, const InputFile& file,
                                      const RowOptions& options) {
  const std::string begin = beginning_of(file);
  if (is_parquet(begin)) return std::make_unique<ParquetBytes>(path, options.pythons);
  if (is_gzip(begin)) return std::make_unique<GzipBytes>(file.fd.get());
  return std::make_unique<DescriptorBytes>(file.fd.get());
}

// Refuses files of other kinds by how they begin; `packed`: the beginning is what gzip unpacked.
void refuse_foreign(RowCursor& cursor, const std::string& name, bool packed) {
  const std::string_view front = cursor.front(kTellingBytes);
  if (packed && (is_gzip(front) || is_parquet(front)))
    throw FileFault(
        fmt::format("holds a {} file, packed with gzip; `gunzip` it", is_gzip(front) ? "packed" : "parquet"));
  if (const std::string what = foreign_file(front, name); !what.empty()) throw FileFault(what);
}

std::string_view first_word(std::string_view text) { return text.substr(0, text.find_first_of(" \t\r\n")); }

// To the next value. False: the file ends.
bool find_value(RowCursor& cursor) {
  for (;; cursor.advance()) {
    if (cursor.at_end()) return false;
    const char c = cursor.byte();
    if (c == '{' || c == '[') return true;
    if (c != ' ' && c != '\t' && c != '\r' && c != '\n' && c != '\0')
      throw ConfigError(
          "it is not JSON: it begins with '{}'; must be a JSON object a line, or a list of objects in a file",
          printable(first_word(cursor.front(8))));
  }
}

void read_values(RowCursor& cursor, RowEvents& events) {
  if (cursor.front(kByteOrderMark.size()) == kByteOrderMark)
    for (size_t i = 0; i < kByteOrderMark.size(); ++i) cursor.advance();
  while (find_value(cursor)) events.read_value();
}

std::set<std::string> lists_of(const RowOptions& options) {
  std::set<std::string> lists(kRowLists.begin(), kRowLists.end());
  for (const std::string& name : options.whole) lists.erase(name);
  return lists;
}

bool is_data(const std::string& name) {
  const auto ends = [&](std::string_view suffix) { return name.ends_with(suffix); };
  const auto is_json = [&](const std::string& packed) {
    return ends(".json" + packed) || ends(".jsonl" + packed) || ends(".ndjson" + packed);
  };
  return is_json("") || is_json(".gz") || ends(".parquet");
}

// Names by their paths, as messages show them; the number of all is larger where there are more than `most`.
struct FieldNames {
  size_t most, all = 0;
  std::vector<std::string> names = {};

  void add(const Json& value, const std::string& path) {
    if (!value.is_object() || value.empty()) {
      if (all++ < most) names.push_back(printable(path, kMostPathBytes));
      return;
    }
    for (const auto& [key, part] : value.items()) {
      const std::string name = key.substr(0, kMostPathBytes + 1);
      add(part, path.empty() ? name : path.size() > kMostPathBytes ? path : path + "." + name);
    }
  }
};

const Json* part_of(const Json& value, std::string_view name) {
  if (value.is_object()) {
    const auto found = value.find(std::string(name));
    return found == value.end() ? nullptr : &*found;
  }
  size_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  const bool whole = error == std::errc() && end == name.data() + name.size();
  return value.is_array() && whole && index < value.size() ? &value[index] : nullptr;
}

}  // namespace

RowFiles row_files(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {.files = {path}, .left_out = {}};
  RowFiles found;
  fs::directory_iterator entries(path, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (name.starts_with('.')) continue;
    std::error_code unknown;
    const bool folder = entries->is_directory(unknown);
    if (is_data(name) && !folder)
      found.files.push_back(entries->path());
    else
      found.left_out.push_back(printable(name) + (folder ? "/" : ""));
  }
  if (error) throw ConfigError("{}: the folder cannot be read: {}", path.string(), error.message());
  std::ranges::sort(found.files);
  std::ranges::sort(found.left_out);
  if (found.files.empty())
    throw ConfigError(
        "{}: the folder has no file that ends in .jsonl, .ndjson, .json, the same and .gz, or .parquet{}",
        path.string(), found.left_out.empty() ? "" : fmt::format("; it has {}", found.left_out.front()));
  return found;
}

int64_t read_rows(const fs::path& file, const RowOptions& options, const TakeRow& take) {
  const std::string name = file.string();
  int64_t rows = 0;
  bool of_table = false;
  const auto place = [&](int64_t line) {
    return of_table ? fmt::format("{}: row {}", name, line) : fmt::format("{}:{}", name, line);
  };
  const auto lists = lists_of(options);
  const InputFile opened = open_input_file(file);
  std::unique_ptr<ByteSource> source;
  try {
    source = source_of(file, opened, options);
  } catch (const ConfigError& e) {
    throw ConfigError("{}: {}", name, e.what());
  }
  of_table = dynamic_cast<ParquetBytes*>(source.get()) != nullptr;
  RowCursor cursor(*source, options.limits.bytes);
  RowEvents events(cursor, options.limits, of_table ? std::set<std::string>() : lists,
                   [&](Json&& json, int64_t line) {
                     ++rows;
                     if (!take({std::move(json), place(line)})) throw Enough();
                   });
  try {
    refuse_foreign(cursor, name, dynamic_cast<GzipBytes*>(source.get()) != nullptr);
    read_values(cursor, events);
  } catch (const Enough&) {
  } catch (const FileFault& e) {
    throw ConfigError("{}: {}", name, e.what());
  } catch (const ConfigError& e) {
    throw ConfigError("{}: {}", place(events.line()), e.what());
  }
  return rows;
}

std::string fields_of(const Json& row, size_t most) {
  FieldNames fields{.most = most};
  fields.add(row, "");
  const std::string text = fmt::format("{}", fmt::join(fields.names, ", "));
  return fields.all > most ? fmt::format("{} and {} more", text, fields.all - most) : text;
}

const Json* field_at(const Json& row, std::string_view path) {
  if (const Json* whole = part_of(row, path)) return whole;
  for (size_t dot = path.rfind('.'); dot != path.npos && dot > 0; dot = path.rfind('.', dot - 1))
    if (const Json* outer = part_of(row, path.substr(0, dot)))
      if (const Json* found = field_at(*outer, path.substr(dot + 1))) return found;
  return nullptr;
}

}  // namespace temper
