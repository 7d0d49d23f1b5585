#include "base/input/rows/rows.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
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

void pass_byte_order_mark(RowCursor& cursor) {
  if (cursor.front(kByteOrderMark.size()) == kByteOrderMark)
    for (size_t i = 0; i < kByteOrderMark.size(); ++i) cursor.advance();
}

// Whether a file whose name says so has a row a line: an object that is written over several lines begins with a short one.
bool has_row_a_line(RowCursor& cursor, const fs::path& file) {
  const fs::path name = file.extension() == ".gz" ? file.stem() : file;
  if (name.extension() != ".jsonl" && name.extension() != ".ndjson") return false;
  std::string_view line = cursor.front(kTellingBytes);
  const size_t begin = line.find_first_not_of(" \t\r\n");
  if (begin == line.npos) return true;
  line = line.substr(begin, line.find('\n', begin) - begin);
  const size_t last = line.find_last_not_of(" \t\r");
  return std::string_view("{[,").find(line[last]) == std::string_view::npos || line.size() > 200;
}

std::set<std::string> lists_of(const RowOptions& options) {
  std::set<std::string> lists(kRowLists.begin(), kRowLists.end());
  for (const std::string& name : options.whole) lists.erase(name);
  return lists;
}

}  // namespace

bool is_row_file(const fs::path& file) {
  const std::string name = file.filename().string();
  const auto ends = [&](std::string_view suffix) { return name.ends_with(suffix); };
  const auto is_json = [&](const std::string& packed) {
    return ends(".json" + packed) || ends(".jsonl" + packed) || ends(".ndjson" + packed);
  };
  return is_json("") || is_json(".gz") || ends(".parquet");
}

namespace {

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
    if (is_row_file(name) && !folder)
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

namespace {

// The rows of one file.
class RowReader {
 public:
  RowReader(const fs::path& file, const RowOptions& options, const TakeRow& take)
      : file_(file), name_(file.string()), options_(options), take_(take), lists_(lists_of(options)) {}

  int64_t read() {
    const InputFile opened = open_input_file(file_);
    std::unique_ptr<ByteSource> source;
    try {
      source = source_of(file_, opened, options_);
    } catch (const ConfigError& e) {
      throw ConfigError("{}: {}", name_, e.what());
    }
    of_table_ = dynamic_cast<ParquetBytes*>(source.get()) != nullptr;
    if (of_table_) lists_.clear();
    RowCursor cursor(*source, options_.limits.bytes);
    begin(cursor);
    try {
      refuse_foreign(cursor, name_, dynamic_cast<GzipBytes*>(source.get()) != nullptr);
      pass_byte_order_mark(cursor);
      const bool lines = options_.left_out && has_row_a_line(cursor, file_);
      while (lines ? read_line(cursor) : read_value(cursor)) continue;
    } catch (const Enough&) {
    } catch (const FileFault& e) {
      fail(fmt::format("{}: {}", name_, e.what()));
    } catch (const ConfigError& e) {
      fail(fmt::format("{}: {}", place(events_->line()), e.what()));
    }
    return rows_;
  }

 private:
  void begin(RowCursor& cursor) {
    events_.emplace(cursor, options_.limits, lists_, [this](Json&& json, int64_t line) {
      ++rows_;
      if (!take_({std::move(json), place(line)})) throw Enough();
    });
  }

  bool read_value(RowCursor& cursor) {
    if (!find_value(cursor)) return false;
    events_->read_value();
    return true;
  }

  // A value that ends with its line, or what is no such value.
  bool read_line(RowCursor& cursor) {
    int64_t begun = 0;
    try {
      const bool more = find_value(cursor);
      begun = cursor.line();
      cursor.hold_line(true);
      if (more) events_->read_value();
      cursor.hold_line(false);
      return more;
    } catch (const FileFault&) {
      throw;
    } catch (const ConfigError& e) {
      cursor.hold_line(false);
      if (begun == 0) begun = cursor.line();
      options_.left_out(fmt::format("{}: {}", place(begun), e.what()));
      if (cursor.line() == begun) cursor.skip_line();
      cursor.begin_row();
      begin(cursor);
      return true;
    }
  }

  // What was read before it stays, where rows may be left out.
  void fail(const std::string& why) const {
    if (!options_.left_out) throw ConfigError("{}", why);
    options_.left_out(rows_ > 0 ? why + "; the rest of the file is left out" : why);
  }

  std::string place(int64_t line) const {
    return of_table_ ? fmt::format("{}: row {}", name_, line) : fmt::format("{}:{}", name_, line);
  }

  const fs::path& file_;
  const std::string name_;
  const RowOptions& options_;
  const TakeRow& take_;
  std::set<std::string> lists_;
  std::optional<RowEvents> events_;
  int64_t rows_ = 0;
  bool of_table_ = false;
};

}  // namespace

int64_t read_rows(const fs::path& file, const RowOptions& options, const TakeRow& take) {
  return RowReader(file, options, take).read();
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
