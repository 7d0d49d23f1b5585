// Rows of JSON in the forms in which people keep data.

#include "base/input/rows/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "base/input/rows/foreign_files.h"

namespace temper {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;
using namespace std::string_literals;

std::string gzip(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = uInt(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = uInt(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

class Rows : public testing::Test {
 protected:
  Rows() { fs::create_directories(dir_); }
  ~Rows() override { fs::remove_all(dir_); }

  fs::path file(const std::string& bytes, const std::string& name = "data.jsonl") {
    write_file(dir_ / name, bytes);
    return dir_ / name;
  }

  // "3: {…}" for each row, with its line.
  std::vector<std::string> read(const std::string& bytes, const RowOptions& options = {}) {
    std::vector<std::string> rows;
    const std::string name = file(bytes).string();
    read_rows(name, options, [&](InputRow&& row) {
      EXPECT_THAT(row.place, StartsWith(name + ":"));
      rows.push_back(row.place.substr(name.size() + 1) + ": " + row.json.dump());
      return true;
    });
    return rows;
  }

  std::string refusal(const std::string& bytes, const std::string& name = "data.jsonl",
                      const RowOptions& options = {}) {
    try {
      read_rows(file(bytes, name), options, [](InputRow&&) { return true; });
    } catch (const ConfigError& e) {
      const std::string what = e.what(), place = (dir_ / name).string();
      EXPECT_THAT(what, StartsWith(place));
      return what.substr(place.size() + 1);
    }
    return "none";
  }

  const fs::path dir_ = fs::temp_directory_path() / fmt::format("temper_rows_{}", ::getpid());
};

TEST_F(Rows, InEveryForm) {
  const auto two = ElementsAre("1: {\"a\":1}", "2: {\"b\":[{}]}");
  const std::string lines = "{\"a\": 1}\n{\"b\": [{}]}\n";
  EXPECT_THAT(read(lines), two);
  EXPECT_THAT(read("{\"a\": 1}\r\n{\"b\": [{}]}"), two);
  EXPECT_THAT(read("\xef\xbb\xbf" + lines), two);
  EXPECT_THAT(read("[{\"a\": 1},\n{\"b\": [{}]}]"), two);
  EXPECT_THAT(read("{\"data\": [{\"a\": 1},\n{\"b\": [{}]}]}"), two);
  EXPECT_THAT(read("{\"version\": {\"of\": [1, {}]}, \"rows\": [{\"a\": 1},\n{\"b\": [{}]}], \"n\": 2, "
                   "\"x\": {\"y\": [3]}}\n"),
              two);
  EXPECT_THAT(read(gzip(lines)), two);
  EXPECT_THAT(read(gzip("{\"a\": 1}\n") + gzip("{\"b\": [{}]}\n") + "\0\0"s), two);
  EXPECT_THAT(read(gzip("[{\"a\": 1},\n{\"b\": [{}]}]")), two);
  EXPECT_THAT(read("{\n \"a\": 1\n}\n\n{\n\"b\":\n[]}"), ElementsAre("1: {\"a\":1}", "5: {\"b\":[]}"));
  EXPECT_THAT(read("[\n\n {\"a\":\n 1}, {\"b\": 2}\n]\n[{\"c\": 3}]"),
              ElementsAre("3: {\"a\":1}", "4: {\"b\":2}", "6: {\"c\":3}"));
  EXPECT_THAT(read(" \n \n"), ElementsAre());
  EXPECT_THAT(read("[]"), ElementsAre());
}

TEST_F(Rows, AListIsOfRowsOnlyUnderANameForThemAndWhereItHoldsObjects) {
  EXPECT_THAT(read("{\"messages\": [{\"a\": 1}]}"), ElementsAre("1: {\"messages\":[{\"a\":1}]}"));
  EXPECT_THAT(read("{\"data\": [1, {\"a\": 1}]}"), ElementsAre("1: {\"data\":[1,{\"a\":1}]}"));
  EXPECT_THAT(read("{\"data\": []}"), ElementsAre("1: {\"data\":[]}"));
  EXPECT_THAT(read("{\"x\": {\"data\": [{\"a\": 1}]}}"), ElementsAre("1: {\"x\":{\"data\":[{\"a\":1}]}}"));
  EXPECT_THAT(read("[{\"data\": [{\"a\": 1}]}]"), ElementsAre("1: {\"data\":[{\"a\":1}]}"));
  EXPECT_THAT(read("{\"data\": [{\"a\": 1}]}", {.whole = {"data"}}),
              ElementsAre("1: {\"data\":[{\"a\":1}]}"));
  EXPECT_THAT(refusal("{\"train\": [{}], \"test\": [{}]}"),
              HasSubstr("1: it holds rows under 'train' and under 'test'"));
  EXPECT_THAT(refusal("{\"test\": [{}], \"train\": [{}]}"),
              HasSubstr("it holds rows under 'test' and under 'train'"));
  EXPECT_THAT(refusal("{\"data\": [{}], \"data\": [{}]}"),
              HasSubstr("it holds rows under 'data' and under 'data'"));
}

TEST_F(Rows, AFaultIsNamedWithTheLineOnWhichItsRowBegins) {
  const std::string good = "{\"a\": 1}\n\n";
  for (const auto& [text, said] : std::vector<std::pair<std::string, std::string>>{
           {good + "{\"a\": [\n{\"b\": 1}\n", "3: it is not JSON: the file ends in the middle of it"},
           {good + "{\"a\": \"b\n{}", "3: it is not JSON: the end of line 3, at '\"b"},
           {good + "{\"a\" 1}\n" + good, "3: it is not JSON: byte 7 of line 3, at '1'"},
           {good + "{\"a\":\n 1,,\n2}\n", "3: it is not JSON: byte 4 of line 4"},
           {good + "{\"a\": 1, \"a\": 2}", "3: it: names 'a' twice in one object"},
           {good + "{\"a\": \"\xff\"}", "3: it is not valid UTF-8: byte 8 of line 3"},
           {good + "{\"a\": \"\xc3\"}", "3: it is not valid UTF-8"},
           {good + "{\"a\": “b”}", "3: it is not JSON: byte 7 of line 3"},
           {good + "{\"a\": \0}"s, "3: it is not JSON: it holds a NUL"},
           {good + "\0{}"s, "3: it is not JSON: it holds a NUL"},
           {good + "{\"a\": \"\0\"}"s, "3: it is not JSON: it holds a NUL"},
           {good + "{\"a\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}",
            "3: it: is nested more than"},
           {good + "3", "3: it is not JSON: it begins with '3'"},
           {good + "a,b", "3: it is not JSON: it begins with 'a,b'"},
           {"[{}, 3]", "1: it is 3: must be an object"},
           {"[{},\n[{}]]", "2: it is a list: must be an object"},
           {"[{},\n{}", "2: it is not JSON: the file ends"},
           {"[{} {}]", "1: it is not JSON: byte 5 of line 1"},
           {good + "}", "3: it is not JSON: it begins with '}'"},
           {"{\"data\": [{}, 1]}", "1: it is 1: must be an object"},
           {"{\"data\": [{\"a\": 1, \"a\": 2}]}", "1: it: names 'a' twice in one object"},
           {good + "{\"a\": 1e999}", "3: it is not JSON"}})
    EXPECT_THAT(refusal(text), StartsWith(said)) << text.substr(0, 60);
}

TEST_F(Rows, WhatIsNoJsonIsCalledByItsName) {
  for (const auto& [bytes, said] : std::vector<std::pair<std::string, std::string>>{
           {"PK\x03\x04"s, "is a zip archive"},
           {"\x28\xb5\x2f\xfd"s, "is packed with zstd, not JSON; `zstd -d"},
           {"\xfd"
            "7zXZ\0"s,
            "is packed with xz"},
           {"BZh9"s, "is packed with bzip2"},
           {"ARROW1\0\0"s, "is an Arrow file"},
           {"\xff\xff\xff\xff\0"s, "is an Arrow stream"},
           {std::string(257, 'a') + "ustar", "is a tar archive"},
           {gzip(std::string(257, 'a') + "ustar"), "is a tar archive"},
           {gzip(gzip("{}")), "holds a packed file"},
           {"\xff\xfe{\0"s, "is text in UTF-16, not JSON; `iconv"},
           {"{\0\"\0"s, "is text in UTF-16"},
           {"\n <!DOCTYPE html>", "is a web page"},
           {"version https://git-lfs.github.com/spec/v1\noid sha256:" + std::string(64, 'a') + "\nsize 3\n",
            "is a pointer of Git LFS"}})
    EXPECT_THAT(refusal(bytes), HasSubstr(said));
  EXPECT_THAT(refusal("a,b\n1,2\n", "data.csv"), HasSubstr("is a table of commas, not JSON; `python3"));
}

TEST_F(Rows, APackedFileMustBeWhole) {
  const std::string packed = gzip("{\"a\": 1}\n{\"a\": 2}\n");
  EXPECT_THAT(refusal(packed.substr(0, packed.size() - 6)),
              HasSubstr("ends in the middle of what gzip packed"));
  EXPECT_THAT(refusal(packed.substr(0, 12)), HasSubstr("ends in the middle of what gzip packed"));
  EXPECT_THAT(refusal(packed + "more"), HasSubstr("has bytes behind what gzip packed"));
  std::string damaged = packed;
  damaged[damaged.size() - 6] ^= 1;
  EXPECT_THAT(refusal(damaged), HasSubstr("is damaged: gzip cannot unpack it (incorrect data check)"));
}

TEST_F(Rows, WhatUnpacksWithoutEndIsRefused) {
  const std::string block = gzip(std::string(100 << 20, ' '));
  EXPECT_THAT(refusal(block), HasSubstr("unpacks to more than 500 times its size"));
  std::string rows;
  while (rows.size() < size_t(100 << 20)) rows += std::string(1'000'000, ' ') + "{}\n";
  EXPECT_THAT(refusal(gzip(rows)), HasSubstr("unpacks to more than 500 times its size"));
}

TEST_F(Rows, ARowHasItsLimits) {
  EXPECT_THAT(
      refusal("{\"a\": \"" + std::string(1000, 'x') + "\"}", "data.jsonl", {.limits = {.bytes = 1000}}),
      HasSubstr("it has more than 1000 bytes"));
  EXPECT_EQ(
      read(std::string(900, ' ') + "{}\n" + std::string(900, ' ') + "{}", {.limits = {.bytes = 1000}}).size(),
      2u);
  EXPECT_THAT(refusal("{\"a\": [1, 2, 3]}", "data.jsonl", {.limits = {.values = 4}}),
              HasSubstr("more values"));
}

TEST_F(Rows, EndWhereNoMoreAreWanted) {
  int taken = 0;
  EXPECT_EQ(read_rows(file("{}\n{}\nnot JSON"), {}, [&](InputRow&&) { return ++taken < 2; }), 2);
  EXPECT_EQ(taken, 2);
}

TEST_F(Rows, WhatTheTakerRefusesGetsItsPlace) {
  try {
    read_rows(file("{}\n{\n}\n"), {}, [](InputRow&& row) -> bool {
      if (row.place.ends_with(":2")) throw ConfigError("odd");
      return true;
    });
    FAIL();
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.what(), (dir_ / "data.jsonl").string() + ":2: odd");
  }
}

TEST_F(Rows, OfAFolderAreItsFilesInOrder) {
  for (const char* name : {"b.jsonl", "a.json.gz", "c.parquet", "README.md", ".hidden"}) file("", name);
  fs::create_directory(dir_ / "more");
  const RowFiles found = row_files(dir_);
  EXPECT_THAT(found.files, ElementsAre(dir_ / "a.json.gz", dir_ / "b.jsonl", dir_ / "c.parquet"));
  EXPECT_THAT(found.left_out, ElementsAre("README.md", "more/"));
  EXPECT_THROW(row_files(dir_ / "more"), ConfigError);
  EXPECT_THAT(row_files(dir_ / "b.jsonl").files, ElementsAre(dir_ / "b.jsonl"));
  EXPECT_THROW(read_rows(dir_, {}, [](InputRow&&) { return true; }), ConfigError);
  EXPECT_THROW(read_rows(dir_ / "nowhere", {}, [](InputRow&&) { return true; }), ConfigError);
}

TEST_F(Rows, ATableWithoutAReaderSaysWhatInstallsOne) {
  const std::string table = "PAR1" + std::string(50, '\0') + "PAR1";
  EXPECT_THAT(refusal(table, "a.parquet"), HasSubstr("no Python is known"));
  EXPECT_THAT(refusal(table, "a.parquet", {.pythons = {"/bin/false", "/bin/false"}}),
              HasSubstr("pyarrow is missing from /bin/false and /bin/false; `/bin/false -m pip install "
                        "pyarrow` installs it"));
}

// A Python that has no pyarrow does all else that one with it does.
TEST_F(Rows, ATableIsReadByAProcess) {
  const std::string python = (dir_ / "python").string();
  write_file(python,
             "#!/bin/sh\necho readable; echo '{\"a\": 1}'; echo '{\"data\": [{}]}'; test ! -e \"$4.bad\" || "
             "exit 78\n");
  fs::permissions(python, fs::perms::owner_all);
  std::vector<std::string> rows;
  const auto take = [&](InputRow&& row) {
    rows.push_back(row.place.substr(row.place.rfind('/') + 1) + row.json.dump());
    return true;
  };
  const fs::path table = file("PAR1", "a.parquet");
  EXPECT_EQ(read_rows(table, {.pythons = {"/bin/false", python}}, take), 2);
  EXPECT_THAT(rows, ElementsAre("a.parquet: row 1{\"a\":1}", "a.parquet: row 2{\"data\":[{}]}"));
  file("", "a.parquet.bad");
  EXPECT_THAT(refusal("PAR1", "a.parquet", {.pythons = {python}}),
              HasSubstr("no parquet file that can be read to its end"));
}

TEST(Fields, AreFoundByDottedPaths) {
  const Json row = Json::parse(R"({"a": {"b": [{"c": 1}], "d.e": {"f": 2}}, "a.g": 3, "": 4})");
  EXPECT_EQ(*field_at(row, "a.b.0.c"), 1);
  EXPECT_EQ(*field_at(row, "a.d.e.f"), 2);
  EXPECT_EQ(*field_at(row, "a.g"), 3);
  EXPECT_EQ(*field_at(row, ""), 4);
  for (const char* path : {"a.b.1", "a.b.-1", "a.b.x", "b", "a.", ".a", "a.b.0.c.d", "a..b", "a.b.00x"})
    EXPECT_EQ(field_at(row, path), nullptr) << path;
  EXPECT_EQ(fields_of(row), ", a.b, a.d.e.f, a.g");
  EXPECT_EQ(fields_of(Json::parse(R"({"x": 1, "y": 2, "z": 3})"), 2), "x, y and 1 more");
}

TEST_F(Rows, BadRowsMayBeLeftOut) {
  std::vector<std::string> told;
  const RowOptions options{
      .left_out = [&](const std::string& what) { told.push_back(what.substr(dir_.string().size() + 1)); }};
  const std::string good = "{\"a\": 1}";
  EXPECT_THAT(read("nonsense\n" + good + "\n{\"a\": [\n" + good + "\n{\"b\": \"cut\n" + good +
                       " more\n[1]\n\n" + good,
                   options),
              ElementsAre("2: {\"a\":1}", "4: {\"a\":1}", "6: {\"a\":1}", "9: {\"a\":1}"));
  EXPECT_THAT(told, ElementsAre(StartsWith("data.jsonl:1: "), StartsWith("data.jsonl:3: "),
                                StartsWith("data.jsonl:5: "), StartsWith("data.jsonl:6: "),
                                StartsWith("data.jsonl:7: ")));
  told.clear();
  EXPECT_THAT(read("[{\"a\": 1},\n{\"b\": ]", options), ElementsAre("1: {\"a\":1}"));
  EXPECT_THAT(told, ElementsAre(testing::AllOf(StartsWith("data.jsonl:2: "),
                                               HasSubstr("the rest of the file is left out"))));
  told.clear();
  EXPECT_THAT(read("{\n\"a\": 1\n}\n{\n\"b\": 2\n}", options), ElementsAre("1: {\"a\":1}", "4: {\"b\":2}"));
  EXPECT_THAT(told, ElementsAre());
}

}  // namespace
}  // namespace temper
