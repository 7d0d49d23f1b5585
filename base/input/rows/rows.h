#pragma once
// Rows of JSON as people keep data: JSON lines, an array, objects one behind another over any number of lines, or
// one object that holds a list of them ({"data": [...]}). Each also packed with gzip; or a table of parquet; or a
// folder of such files.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/input/json.h"

namespace temper {

struct RowOptions {
  std::vector<std::string> pythons =
      {};  // for parquet: interpreters, tried one after another; empty: there is none
  std::vector<std::string> whole = {};  // names of fields that hold no list of rows, whatever kRowLists says
  JsonLimits limits = {.bytes = 64 << 20};  // of a row
  // Gets a sentence, with the place in front, for each row that cannot be read. In a file of one row a line, which such
  // a name ends in .jsonl or .ndjson, reading goes on with the next line; in others the rest of the file is left out.
  // Empty: such a row is an error.
  std::function<void(const std::string&)> left_out = {};
};

// Names under which one object holds the rows of a file.
inline const std::vector<std::string> kRowLists = {"data",    "rows",    "train", "examples", "instances",
                                                   "samples", "records", "items", "entries",  "dataset"};

struct InputRow {
  nlohmann::json json;  // an object
  std::string place;    // "data.jsonl:3", where it begins; in a parquet file "data.parquet: row 3"
};

// Whether the name is of a file that read_rows reads: .json, .jsonl, .ndjson, the same and .gz, .parquet.
bool is_row_file(const std::filesystem::path& file);

// False: no more rows are wanted.
using TakeRow = std::function<bool(InputRow&&)>;

struct RowFiles {
  std::vector<std::filesystem::path> files;  // in order of their names
  std::vector<std::string> left_out;         // what else lies in the folder; hidden files are not counted
};

// The file itself, or those of a folder whose names end in .json, .jsonl, .ndjson or .parquet, or the first three
// in .gz. Errors: ConfigError if the folder holds no such file.
RowFiles row_files(const std::filesystem::path& path);

// A file's rows in order, each when it has been read: memory holds one row. A byte order mark in front and any
// white space between rows are passed over. Returns their number. RowOptions::left_out takes the errors of rows. Errors: ConfigError beginning with the place, if
// the file is something else (with the way out), is damaged or not whole, or holds what is no object; one that
// `take` throws gets the row's place in front. WorldError where the machine fails.
int64_t read_rows(const std::filesystem::path& file, const RowOptions& options, const TakeRow& take);

// The names of what the row holds, as a dotted path each, at most so many, as messages show them.
std::string fields_of(const nlohmann::json& row, size_t most = 16);

// The value at a dotted path, where a number is a place in a list, from 0; null if there is none. A field whose
// own name has dots is found first.
const nlohmann::json* field_at(const nlohmann::json& row, std::string_view path);

}  // namespace temper
