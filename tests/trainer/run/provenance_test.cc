#include "trainer/run/provenance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "trainer/app/report/origin.h"
#include "trainer/checkpoint/manifest.h"
#include "trainer/config/config.h"
#include "trainer/config/other_names.h"
#include "trainer/run/metrics.h"

namespace temper::trainer {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST(Provenance, TheProgramSaysWhatItIs) {
  const nlohmann::json facts = program_facts();
  for (const char* key : {"version", "commit", "compiler", "flags"}) {
    ASSERT_TRUE(facts.at(key).is_string()) << key;
    EXPECT_FALSE(facts[key].get<std::string>().empty()) << key;
  }
  std::vector<std::string> names;
  for (const auto& library : facts.at("libraries")) names.push_back(library.at(0));
  EXPECT_THAT(names, testing::IsSupersetOf({"torch", "driver"}));
  EXPECT_THAT(program_text(facts), HasSubstr("temper " + facts["version"].get<std::string>() + "\ncommit "));
}

TEST(Provenance, TheCommandCanBeTypedAgain) {
  const char* words[] = {"build/temper", "train", "run.yaml",    "tasks.names=[a, b]",
                         "it's",         "",      "\x1b[31m\xff"};
  note_command(7, words);
  const nlohmann::json start = start_facts(3);
  EXPECT_EQ(start.at("command"),
            "build/temper train run.yaml 'tasks.names=[a, b]' 'it'\\''s' '' '\\x1b[31m\\xff'");
  EXPECT_EQ(start.at("ranks"), 3);
  EXPECT_GE(start.at("cores"), 1);
  EXPECT_TRUE(start.at("gpus").is_array());
  EXPECT_FALSE(start.at("host").get<std::string>().empty());
  EXPECT_EQ(start.at("directory"), fs::current_path().string());
}

TEST(Provenance, StandsInTheFirstLineOfTheMetricsOnce) {
  const fs::path dir = fs::temp_directory_path() / fmt::format("temper_provenance_{}", ::getpid());
  fs::create_directories(dir);
  write_file(dir / "config.yaml", "run: {seed: 1}\n");
  const nlohmann::json start = start_facts(1);
  MetricsWriter(dir).begin(start);
  MetricsWriter writer(dir);
  writer.begin(start_facts(2));
  writer.write(1, {{"timing_s/step", 2}});
  const std::string text = read_file(dir / "metrics.jsonl");
  EXPECT_EQ(nlohmann::json::parse(text.substr(0, text.find('\n'))),
            (nlohmann::json{{"start", start}, {"step", 0}}));
  EXPECT_EQ(text.substr(text.find('\n') + 1), "{\"step\":1,\"timing_s/step\":2.0}\n");
  const RunRecord run = read_run(dir);
  EXPECT_EQ(run.steps_done(), 1);
  EXPECT_TRUE(run.problems.empty());
  std::vector<std::string> names;
  for (const Fact& fact : facts_of(run, {})) names.push_back(fact.name);
  EXPECT_THAT(names,
              testing::IsSupersetOf({"machine", "program", "compiler", "flags", "libraries", "directory"}));
  fs::remove_all(dir);
}

TEST(Provenance, AManifestKeepsItAndDecidesNothingByIt) {
  Manifest manifest;
  manifest.start = start_facts(1);
  EXPECT_EQ(manifest_from(to_text(manifest)).start, manifest.start);
  manifest.start = nullptr;
  EXPECT_TRUE(manifest_from(to_text(manifest)).start.is_null()) << "an older program's have none";
}

TEST(OtherNames, AreAnsweredWithOptionsThatThereAre) {
  const auto options = to_map(read_config("", {}));
  for (const OtherName& other : other_names()) {
    EXPECT_FALSE(options.contains(std::string(other.name))) << other.name << " is ours";
    EXPECT_TRUE(other.ours.empty() || options.contains(std::string(other.ours)))
        << other.name << ": " << other.ours;
    EXPECT_TRUE(other.name.ends_with('.') || !other.ours.empty() || !other.note.empty()) << other.name;
  }
}

TEST(Names, OfARunAreOnePartOfAPath) {
  for (const char* name : {"../../escape", "a/b", "..", "."}) try {
      read_config("", {std::string("run.name=") + name});
      ADD_FAILURE() << name;
    } catch (const ConfigError& e) {
      EXPECT_THAT(e.what(),
                  HasSubstr(fmt::format("run.name: '{}' is not allowed: must be one part of a path", name)));
    }
  EXPECT_EQ(read_config("", {"run.name=..a"}).run.name, "..a");
}

}  // namespace
}  // namespace temper::trainer
