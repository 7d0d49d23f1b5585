// JSON and YAML that strangers wrote, and how their text is shown.

#include "base/input/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"
#include "base/input/file.h"
#include "base/input/printable.h"
#include "base/input/utf8.h"
#include "base/input/yaml.h"

namespace temper {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Json = nlohmann::json;

template <class F>
std::string refusal_of(const F& f) {
  try {
    f();
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "none";
}

std::string json_error(std::string_view text, const JsonLimits& limits = {}) {
  return refusal_of([&] { parse_json(text, "file", limits); });
}

std::string yaml_error(const std::string& text) {
  return refusal_of([&] { parse_yaml(text, "file"); });
}

std::string closed_lists(int depth) {
  return std::string(size_t(depth), '[') + std::string(size_t(depth), ']');
}

TEST(Json, TheTreeIsWhatNlohmannReads) {
  for (const char* text :
       {"{}", "[]", "3", "-7", "1.5", "null", "true", R"("aé\n\u20ac")",
        R"({"a":[1,{"b":[[],{}]},"c"],"d":{"e":null},"":18446744073709551615})", " [ 1 ] "})
    EXPECT_EQ(parse_json(text, "file"), Json::parse(text)) << text;
}

TEST(Json, WhatIsNoJsonIsNamedWithItsByte) {
  EXPECT_THAT(json_error("{\"a\": tru}"), HasSubstr("file is not JSON: byte 10"));
  EXPECT_THAT(json_error(""), HasSubstr("not JSON"));
  EXPECT_THAT(json_error("[1] x"), HasSubstr("not JSON"));
  EXPECT_THAT(json_error("\xef\xbb\xbf[]"), HasSubstr("byte order mark"));
  EXPECT_THAT(json_error(std::string_view("[]\0[]", 5)), HasSubstr("holds a NUL"));
  EXPECT_THAT(json_error("[\"a\xe9\"]"), HasSubstr("file is not valid UTF-8: byte 4"));
  EXPECT_THAT(json_error("1e400"), HasSubstr("not JSON"));
  EXPECT_THAT(refusal_of([] { parse_json_object("[1]", "file"); }), HasSubstr("file: is not a JSON object"));
}

TEST(Json, KeysDepthAndCountAreLimited) {
  EXPECT_THAT(json_error(R"({"a":1,"b":{"a":1},"a":2})"), HasSubstr("names 'a' twice"));
  EXPECT_EQ(json_error(closed_lists(32)), "none");
  EXPECT_THAT(json_error(closed_lists(33)), HasSubstr("more than 32 deep"));
  EXPECT_THAT(json_error(closed_lists(1'000'000)), HasSubstr("deep"));
  EXPECT_THAT(json_error("[1,2,3]", {.values = 3}), HasSubstr("more values"));
  EXPECT_EQ(json_error("[1,2,3]", {.values = 4}), "none");
  EXPECT_THAT(json_error("[1,2,3]", {.bytes = 6}), HasSubstr("7 bytes, at most 6"));
}

TEST(Json, CborIsReadWithTheSameLimits) {
  const auto error = [](const std::string& bytes) {
    return refusal_of([&] { parse_cbor(bytes, "message"); });
  };
  const Json tree = {{"a", {1, -2, 2.5, nullptr, true}}, {"b", Json::object()}, {"c", "no text: \xff"}};
  std::string bytes;
  Json::to_cbor(tree, bytes);
  EXPECT_EQ(parse_cbor(bytes, "message"), tree);
  EXPECT_THAT(error(bytes.substr(0, 10)), HasSubstr("message is not CBOR: byte"));
  EXPECT_THAT(error(std::string(300'000, '\x81')), HasSubstr("deep"));
}

TEST(Json, WholeNumbersFitIntoTheirType) {
  EXPECT_EQ(whole_number(Json(-3)), -3);
  EXPECT_EQ(whole_number(Json(uint64_t(INT64_MAX))), INT64_MAX);
  EXPECT_EQ(whole_number(Json(uint64_t(INT64_MAX) + 1)), std::nullopt);
  EXPECT_EQ(whole_number(Json(1.0)), std::nullopt);
  EXPECT_EQ(whole_number(Json(1e300)), std::nullopt);
}

TEST(Printable, NothingMovesTheCursorOrTurnsTheText) {
  EXPECT_EQ(printable("plain text"), "plain text");
  EXPECT_EQ(printable("übung 你好"), "übung 你好");
  EXPECT_EQ(printable("\x1b[31m\n\t"), "\\x1b[31m\\x0a\\x09");
  EXPECT_EQ(printable("a\u202eb\u200bc"), "a\\xe2\\x80\\xaeb\\xe2\\x80\\x8bc");
  EXPECT_EQ(printable("a\xe9z\xc0"), "a\\xe9z\\xc0");
  EXPECT_EQ(printable(std::string(81, 'n')), std::string(80, 'n') + "...");
  EXPECT_EQ(printable("abcé", 4), "abc...");  // no half of a character
}

TEST(Utf8, WhatIsValidIsInFront) {
  EXPECT_EQ(valid_utf8_prefix("plain and long enough é"), 24u);
  EXPECT_EQ(valid_utf8_prefix("ab\xe9"), 2u);
  EXPECT_EQ(valid_utf8_prefix("a\xed\xa0\x80"), 1u);  // a surrogate
  EXPECT_EQ(valid_utf8_prefix("a\xc0\xaf"), 1u);      // too long
  EXPECT_EQ(valid_utf8_prefix("a\xe2\x82"), 1u);      // broken off
}

TEST(Yaml, AliasesMayNeitherTurnBackNorMultiply) {
  EXPECT_EQ(yaml_error("a: &x [1, 2]\nb: *x\nc: {d: *x}"), "none");
  EXPECT_THAT(yaml_error("ok: 1\nrun: &a {b: *a}"),
              HasSubstr("file:2: is nested more than 64 deep, or an alias"));
  EXPECT_THAT(yaml_error("- &a [*a]"), HasSubstr("an alias"));
  std::string laughs = "a0: &a0 [1, 1]\n";
  for (int i = 1; i < 30; ++i) laughs += fmt::format("a{}: &a{} [*a{}, *a{}]\n", i, i, i - 1, i - 1);
  EXPECT_THAT(yaml_error(laughs), HasSubstr("aliases followed"));
}

TEST(Yaml, WhatIsNoYamlIsNamedWithItsLine) {
  EXPECT_THAT(yaml_error("a: 1\nb: [1"), HasSubstr("file:2: not valid YAML"));
  EXPECT_THAT(yaml_error("a: 1\nb: \xe9"), HasSubstr("file:2: byte \\xe9 is not valid UTF-8"));
  EXPECT_THAT(yaml_error(std::string(100'000, '[')), HasSubstr("file:"));
  EXPECT_THAT(yaml_error(std::string("a: 1\nb: \0", 9)), HasSubstr("file:2: holds a NUL"));
  EXPECT_THAT(yaml_error(fmt::format("[{}]", std::string(400'000, ','))),
              HasSubstr("more values than any such file"));
}

TEST(InputFile, IsARegularOneThatIsThere) {
  const fs::path dir = fs::path(testing::TempDir()) / fmt::format("temper_input_{}", ::getpid());
  fs::create_directories(dir);
  const auto error = [&](const fs::path& path, uint64_t most = 100) {
    return refusal_of([&] { read_input_file(path, most); });
  };
  std::ofstream(dir / "file") << "four";
  EXPECT_EQ(read_input_file(dir / "file", 4), "four");
  EXPECT_THAT(error(dir / "file", 3), HasSubstr("4 bytes, at most 3"));
  EXPECT_THAT(error(dir), HasSubstr("is not a regular file"));
  EXPECT_THAT(error("/dev/zero"), HasSubstr("is not a regular file"));
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(error(dir / "fifo"), HasSubstr("is not a regular file"));
  fs::create_symlink(dir / "loop", dir / "loop");
  EXPECT_THAT(error(dir / "loop"), HasSubstr("cannot be opened"));
  EXPECT_THAT(error(dir / "none"), HasSubstr("no such file"));
  fs::remove_all(dir);
}

}  // namespace
}  // namespace temper
