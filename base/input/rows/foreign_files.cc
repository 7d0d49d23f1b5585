#include "base/input/rows/foreign_files.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/error.h"
#include "base/machine/child_process.h"

namespace temper {
namespace {

using namespace std::string_view_literals;

struct Foreign {
  std::string_view begin;
  size_t at;
  const char* is;  // {} is the file's name, as a shell takes it
  const char* way_out;
};

constexpr const char* kLoadArrow =
    "`python3 -c \"import datasets; datasets.load_from_disk('FOLDER').to_json('data.jsonl')\"` writes JSON "
    "lines";
constexpr const char* kRecode = "`iconv -f UTF-16 -t UTF-8 {} > data.jsonl` writes what is read";

// Sources: the formats' own specifications. UTF-32 begins as UTF-16 does and stands in front of it.
const std::vector<Foreign>& kinds() {
  static const std::vector<Foreign> all = {
      {"PK\x03\x04"sv, 0, "a zip archive", "`unzip {}` and name a file that comes out"},
      {"\x28\xb5\x2f\xfd"sv, 0, "packed with zstd", "`zstd -d {}` unpacks it"},
      {"\xfd"
       "7zXZ"sv,
       0, "packed with xz", "`xz -d {}` unpacks it"},
      {"BZh"sv, 0, "packed with bzip2", "`bunzip2 {}` unpacks it"},
      {"7z\xbc\xaf"sv, 0, "a 7z archive", "`7z x {}` and name a file that comes out"},
      {"ustar"sv, 257, "a tar archive", "`tar -xf {}` and name a file that comes out"},
      {"ARROW1"sv, 0, "an Arrow file", kLoadArrow},
      {"\xff\xff\xff\xff"sv, 0, "an Arrow stream", kLoadArrow},
      {"SQLite format 3"sv, 0, "a database of SQLite", "write its rows as JSON lines"},
      {"\x80\x04\x95"sv, 0, "a pickle of Python's", "write its rows as JSON lines"},
      {"\x80\x05\x95"sv, 0, "a pickle of Python's", "write its rows as JSON lines"},
      {"\xff\xfe\0\0"sv, 0, "text in UTF-32",
       "`iconv -f UTF-32 -t UTF-8 {} > data.jsonl` writes what is read"},
      {"\xff\xfe"sv, 0, "text in UTF-16", kRecode},
      {"\xfe\xff"sv, 0, "text in UTF-16", kRecode},
      {"{\0"sv, 0, "text in UTF-16", "`iconv -f UTF-16LE -t UTF-8 {} > data.jsonl` writes what is read"},
      {"[\0"sv, 0, "text in UTF-16", "`iconv -f UTF-16LE -t UTF-8 {} > data.jsonl` writes what is read"},
      {"\0{"sv, 0, "text in UTF-16", "`iconv -f UTF-16BE -t UTF-8 {} > data.jsonl` writes what is read"},
      {"\0["sv, 0, "text in UTF-16", "`iconv -f UTF-16BE -t UTF-8 {} > data.jsonl` writes what is read"},
      {"<"sv, 0, "a web page or XML, as a download leaves that failed",
       "`hf download --repo-type dataset NAME --local-dir DIR` fetches data of the hub"}};
  return all;
}

bool ends_with(const std::string& name, std::string_view suffix) {
  return name.size() >= suffix.size() &&
         std::equal(suffix.begin(), suffix.end(), name.end() - std::ptrdiff_t(suffix.size()),
                    [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
}

std::string with_name(std::string text, const std::string& name) {
  if (const size_t at = text.find("{}"); at != std::string::npos) text.replace(at, 2, shell_word(name));
  return text;
}

}  // namespace

bool is_gzip(std::string_view begin) { return begin.starts_with("\x1f\x8b"); }
bool is_parquet(std::string_view begin) { return begin.starts_with("PAR1") || begin.starts_with("PARE"); }

std::string foreign_file(std::string_view begin, const std::string& name) {
  for (const Foreign& kind : kinds())
    if (begin.size() >= kind.at && begin.substr(kind.at).starts_with(kind.begin))
      return fmt::format("is {}, not JSON; {}", kind.is, with_name(kind.way_out, name));
  const size_t first = begin.find_first_not_of(" \t\r\n");
  if (first == begin.npos || begin[first] == '{' || begin[first] == '[') return "";
  if (begin[first] == '<') return foreign_file(begin.substr(first), name);
  for (const std::string_view suffix : {".csv", ".tsv"})
    if (ends_with(name, suffix))
      return fmt::format(
          "is a table of {}, not JSON; `python3 -c \"import csv, json, sys; [print(json.dumps(row)) for row "
          "in "
          "csv.DictReader(sys.stdin{})]\" < {} > data.jsonl` writes JSON lines",
          suffix == ".csv" ? "commas" : "tabs", suffix == ".csv" ? "" : ", delimiter='\\t'",
          shell_word(name));
  return "";
}

}  // namespace temper
