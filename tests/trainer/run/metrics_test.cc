#include "trainer/run/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "trainer/run/event_file.h"

namespace temper::trainer {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class MetricsFiles : public testing::Test {
 protected:
  MetricsFiles() { fs::create_directories(dir_); }
  ~MetricsFiles() override { fs::remove_all(dir_); }

  std::string events() const {
    for (const auto& entry : fs::directory_iterator(dir_))
      if (entry.path().filename().string().find("tfevents") != std::string::npos)
        return read_file(entry.path());
    return "";
  }

  const fs::path dir_ = fs::temp_directory_path() / fmt::format("temper_metrics_{}", ::getpid());
};

// The records' data, each length and both checksums verified.
std::vector<std::string> unframe(const std::string& file) {
  std::vector<std::string> records;
  for (size_t at = 0; at < file.size();) {
    uint64_t size = 0;
    std::memcpy(&size, file.data() + at, sizeof size);
    const std::string data = file.substr(at + 12, size);
    EXPECT_EQ(file.substr(at, 16 + size), event_record(data));
    records.push_back(data);
    at += 16 + size;
  }
  return records;
}

TEST_F(MetricsFiles, WriteOneLineAndOneRecordPerStep) {
  MetricsWriter writer(dir_);
  writer.write(1, {{"actor/entropy", 0.5}, {"timing_s/gen", 2}});
  writer.write(2, {{"actor/entropy", std::nan("")}});

  std::istringstream lines(read_file(dir_ / "metrics.jsonl"));
  std::string first, second;
  std::getline(lines, first);
  std::getline(lines, second);
  EXPECT_EQ(nlohmann::json::parse(first),
            (nlohmann::json{{"step", 1}, {"actor/entropy", 0.5}, {"timing_s/gen", 2.0}}));
  EXPECT_TRUE(nlohmann::json::parse(second).at("actor/entropy").is_null());

  const auto records = unframe(events());
  ASSERT_EQ(records.size(), 3u);
  EXPECT_THAT(records[0], HasSubstr("brain.Event:2"));
  // Value {1: "actor/entropy", 2: 0.5f} inside Summary field 1.
  EXPECT_THAT(records[1],
              HasSubstr(std::string("\x0a\x0d") + "actor/entropy" + std::string("\x15\0\0\0\x3f", 5)));
}

TEST_F(MetricsFiles, AddToWhatIsThere) {
  MetricsWriter(dir_).write(1, {{"a", 1}});
  MetricsWriter(dir_).write(2, {{"a", 1}});
  EXPECT_EQ(read_file(dir_ / "metrics.jsonl"), "{\"a\":1.0,\"step\":1}\n{\"a\":1.0,\"step\":2}\n");
}

TEST_F(MetricsFiles, NameTheFileThatCannotBeMade) {
  try {
    MetricsWriter writer(dir_ / "nowhere");
    FAIL() << "no error";
  } catch (const WorldError& e) {
    EXPECT_THAT(e.what(), HasSubstr("nowhere/metrics.jsonl: No such file or directory"));
  }
}

}  // namespace
}  // namespace temper::trainer
