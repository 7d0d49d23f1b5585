#include "env/task/module_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "env/task/module_text.h"
#include "env/task/task_json.h"

namespace temper::env {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kSource =
    "import torch\nimport torch.nn as nn\n\nclass Model(nn.Module):\n    def forward(self, x):\n"
    "        return torch.relu(x)\n\nN = 16\n\ndef get_inputs():\n    return [torch.rand(N)]\n\n"
    "def get_init_inputs():\n    return []\n";

class ModuleReader : public testing::Test {
 protected:
  ModuleReader() { fs::create_directories(root_); }
  ~ModuleReader() override { fs::remove_all(root_); }

  fs::path write(const std::string& name, const std::string& text) const {
    const fs::path path = root_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  ModuleTasks read(const std::string& name = "", const ModuleOptions& options = {}) const {
    return load_module_tasks(root_ / name, options);
  }

  std::string refusal(const std::string& name, const ModuleOptions& options = {}) const {
    try {
      read(name, options);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }

  const fs::path root_ = fs::temp_directory_path() / fmt::format("temper_modules_{}", ::getpid());
};

std::vector<std::string> names_of(const ModuleTasks& read) {
  std::vector<std::string> names;
  for (const Task& task : read.tasks) names.push_back(task.name);
  return names;
}

std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

TEST_F(ModuleReader, ACheckoutsProblemsAreSortedByLevelAndNumber) {
  write("KernelBench/level2/1_Conv2D_ReLU.py", kSource);
  write("KernelBench/level1/100_HingeLoss.py", kSource);
  write("KernelBench/level1/19_ReLU.py", kSource);
  write("KernelBench/level1/25_GELU_.py", kSource);
  write("KernelBench/level1/README.md", "no problem");
  write("pyproject.yaml", "tasks: []");  // not ours
  EXPECT_TRUE(holds_modules(root_));
  const ModuleTasks found = read();
  EXPECT_THAT(names_of(found), ElementsAre("level1_19_relu", "level1_25_gelu", "level1_100_hingeloss",
                                           "level2_1_conv2d_relu"));
  EXPECT_THAT(found.notes, IsEmpty());
  const Task& relu = found.tasks[0];
  EXPECT_EQ(relu.language, "kernelbench");
  EXPECT_EQ(relu.family, "level1");
  EXPECT_TRUE(relu.held_out());
  EXPECT_EQ(relu.reference, kSource);
  EXPECT_EQ(relu.module->level, 1);
  EXPECT_EQ(relu.module->id, 19);
  EXPECT_EQ(relu.module->file, "19_ReLU.py");
  EXPECT_EQ(relu.module->precision, "fp32");
  EXPECT_EQ(relu.module->tolerance, 1e-4);
}

TEST_F(ModuleReader, LevelsAreFoundInAFolderInOneOfThemAndInAFile) {
  write("level3/7_Block.py", kSource);
  EXPECT_THAT(names_of(read()), ElementsAre("level3_7_block"));
  EXPECT_THAT(names_of(read("level3")), ElementsAre("level3_7_block"));
  EXPECT_THAT(names_of(read("level3/")), ElementsAre("level3_7_block"));
  EXPECT_THAT(names_of(read("level3/7_Block.py")), ElementsAre("level3_7_block"));
}

TEST_F(ModuleReader, APrecisionBringsKernelBenchsTolerance) {
  write("level1/1_A.py", kSource);
  const Task task = read("", {.precision = "bf16"}).tasks.at(0);
  EXPECT_EQ(task.module->precision, "bf16");
  EXPECT_EQ(task.module->tolerance, 1e-2);
}

TEST_F(ModuleReader, AnyFolderOfProblemsWillDo) {
  write("mine/Softmax Rows.py", kSource);
  write("mine/Argmax.py", kSource);
  write("mine/helpers.py", "def helper():\n    pass\n");
  const ModuleTasks found = read("mine");
  EXPECT_THAT(names_of(found), ElementsAre("argmax", "softmax_rows"));
  EXPECT_EQ(found.tasks[0].module->id, 1);  // files of results tell problems apart by their numbers
  EXPECT_EQ(found.tasks[1].module->id, 2);
  EXPECT_THAT(found.notes, IsEmpty());
  EXPECT_EQ(found.tasks[0].family, "mine");
  EXPECT_EQ(found.tasks[0].module->level, 0);
}

TEST_F(ModuleReader, WhatIsNoProblemIsLeftOutWithItsFileAndWhy) {
  write("level1/1_Good.py", kSource);
  write("level1/2_NoModel.py", "def get_inputs(): pass\ndef get_init_inputs(): pass\n");
  write("level1/3_NoInputs.py", "class Model: pass\ndef get_init_inputs(): pass\n");
  write("level1/4_Nul.py", std::string(kSource) + '\0');
  write("level1/5_Bytes.py", std::string(kSource) + "\xff");
  write("level1/6_Empty.py", "");
  write("level1/numberless.py", kSource);
  write("level1/8_Long.py", kSource + std::string(2 << 20, '#'));
  write("level1/01_good.py", kSource);
  const ModuleTasks found = read();
  EXPECT_THAT(names_of(found), ElementsAre("level1_01_good"));
  const std::string all = fmt::format("{}", fmt::join(found.notes, "\n"));
  for (const char* words : {"2_NoModel.py: no class Model", "3_NoInputs.py: no get_inputs()",
                            "4_Nul.py: it holds a NUL", "5_Bytes.py: byte ", "6_Empty.py: it is empty",
                            "numberless.py: its name does not begin with the problem's number",
                            "8_Long.py: ", "1_Good.py: the number 1 is used by another problem of its level"})
    EXPECT_THAT(all, HasSubstr(words));
  EXPECT_EQ(found.notes.size(), 8);
}

TEST_F(ModuleReader, AFilesNameMayHoldAnyBytes) {
  write("level1/1_\xff\x1b[2J.py", kSource);
  write("level1/2_\xff.py", "x = 1\n");
  const ModuleTasks found = read();
  EXPECT_EQ(tasks_from_json(tasks_to_json(found.tasks)).at(0).module->file, "1_\\xff\\x1b[2J.py");
  EXPECT_THAT(names_of(found), ElementsAre("level1_1_2j"));
  EXPECT_THAT(found.notes.at(0), HasSubstr("2_\\xff.py: no class Model"));
}

TEST_F(ModuleReader, TwoProblemsOfOneNameAreOne) {
  write("a/1_X.py", kSource);
  write("b/1_x.py", kSource);
  const ModuleTasks found = read();
  EXPECT_THAT(names_of(found), ElementsAre("1_x"));
  ASSERT_EQ(found.notes.size(), 1);
  EXPECT_THAT(found.notes[0], HasSubstr("the name 1_x is used by another problem"));
}

TEST_F(ModuleReader, WithoutAProblemTheReasonsAreTheError) {
  write("level1/2_NoModel.py", "x = 1\n");
  EXPECT_THAT(refusal(""), HasSubstr("no problem with Model, get_inputs and get_init_inputs\n"));
  EXPECT_THAT(refusal(""), HasSubstr("2_NoModel.py: no class Model"));
}

TEST_F(ModuleReader, HeldOutAreNamesFamiliesAndShares) {
  for (int i = 1; i <= 50; ++i) write(fmt::format("level1/{}_A.py", i), kSource);
  write("level2/1_B.py", kSource);
  const auto held = [&](std::vector<std::string> words) {
    const ModuleTasks found = read("", {.held_out = std::move(words)});
    return std::ranges::count_if(found.tasks, [](const Task& task) { return task.held_out(); });
  };
  EXPECT_EQ(held({}), 51);
  EXPECT_EQ(held({"none"}), 0);
  EXPECT_EQ(held({"level2"}), 1);
  EXPECT_EQ(held({"level1_7_a", "level2"}), 2);
  EXPECT_EQ(held({"100%"}), 51);
  EXPECT_EQ(held({"0%"}), 0);
  EXPECT_GT(held({"20%"}), 2);
  EXPECT_LT(held({"20%"}), 22);
  EXPECT_THAT(refusal("", {.held_out = {"level4"}}),
              HasSubstr("tasks.heldout: 'level4' is neither a problem nor"));
}

TEST_F(ModuleReader, ALinesFieldsNameTheProblem) {
  write("kb.jsonl", "{\"code\": " + quoted(kSource) +
                        ", \"level\": 1, \"name\": \"19_ReLU\", \"problem_id\": 19}\n"
                        "\n{\"ops\": [\"relu\"], \"code\": " +
                        quoted("# another\n" + std::string(kSource)) + "}\r\n");
  const ModuleTasks found = read("kb.jsonl");
  EXPECT_TRUE(holds_modules(root_ / "kb.jsonl"));
  EXPECT_THAT(names_of(found), ElementsAre("2", "level1_19_relu"));
  EXPECT_EQ(found.tasks[0].family, "kb");
  EXPECT_EQ(found.tasks[1].module->file, "19_ReLU.py");
  EXPECT_EQ(found.tasks[1].reference, kSource);
  EXPECT_THAT(found.notes,
              ElementsAre(HasSubstr(
                  "kb.jsonl: problems: 1 in rows of KernelBench's form, 1 in rows of no known form")));
}

TEST_F(ModuleReader, TheFirstFieldWithAProblemIsTakenOrTheOneNamed) {
  const std::string other = "# other\n" + std::string(kSource);
  write("a.jsonl", "{\"code\": \"print(1)\", \"python_code\": " + quoted(kSource) +
                       ", \"mine\": " + quoted(other) + "}\n");
  EXPECT_EQ(read("a.jsonl").tasks.at(0).reference, kSource);
  EXPECT_EQ(read("a.jsonl", {.field = "mine"}).tasks.at(0).reference, other);
  EXPECT_THAT(refusal("a.jsonl", {.field = "code"}), HasSubstr("1 without a source (the first: "));
  EXPECT_THAT(refusal("a.jsonl", {.field = "code"}), HasSubstr("a.jsonl:1, field code: "));
  EXPECT_THAT(refusal("a.jsonl", {.field = "absent"}),
              HasSubstr("tasks.field: no row has the field 'absent'; the first has code, mine, python_code"));
}

// KernelBook's get_init_inputs returns a list of positional and a dictionary of named arguments.
// An answer that quotes its problem is none where the problem itself is there, whatever the order of the fields.
TEST_F(ModuleReader, AnAnswerIsNoProblemBesideOne) {
  const std::string answer = std::string(kSource) + "\nclass ModelNew(nn.Module):\n    pass\n";
  std::string changed = kSource;
  const std::string problem = changed.replace(changed.find("relu"), 4, "tanh");
  const auto line = [](const std::string& fields) { return "{" + fields + "}\n"; };
  write("rows.jsonl", line("\"a\": " + quoted(answer) + ", \"b\": " + quoted(problem)));
  EXPECT_EQ(read("rows.jsonl").tasks.at(0).reference, problem);
  write("known.jsonl", line("\"code\": " + quoted(answer) + ", \"b\": " + quoted(problem)));
  EXPECT_EQ(read("known.jsonl").tasks.at(0).reference, problem);
  write("alone.jsonl", line("\"a\": " + quoted(answer)));
  EXPECT_EQ(read("alone.jsonl").tasks.at(0).reference, answer);
}

TEST_F(ModuleReader, AClassOfAnotherNameGetsAModel) {
  const std::string source =
      "class Sum(nn.Module):\n    pass\ndef get_inputs(): pass\ndef get_init_inputs():\n    return [[], "
      "{'k': 4}]\n";
  write("book.jsonl", "{\"entry_point\": \"Sum\", \"python_code\": " + quoted(source) + "}\n");
  const Task task = read("book.jsonl").tasks.at(0);
  EXPECT_EQ(task.name, "1_sum");
  EXPECT_THAT(task.reference, testing::StartsWith(source));
  EXPECT_THAT(task.reference, HasSubstr("class Model(Sum):"));
}

std::string row(const std::string& source, const std::string& more = "") {
  return "{\"code\": " + quoted(source) + more + "}\n";
}

TEST_F(ModuleReader, HostileLinesAreCountedAndTheRestIsRead) {
  std::string text = "{\"a\": " + std::string(100'000, '[') + "\n";  // deep
  text += "{\"code\": \"class Model\\u0000\"}\n";                    // no problem
  text += std::string("{\"code\": \"\0\"}\n", 14);                   // NUL in JSON
  text += "{\"code\": \"" + std::string(100 << 20, 'x') + "\"}\n";   // 100 MB
  text += "[1, 2]\nnot json\n{\"code\": 7}\n{\"code\": \"cut\n{\"a\": [\n";
  text += row(std::string(kSource) + '\0');
  text += "{\"code\": " + quoted(kSource) + "}";  // without a newline
  write("hostile.jsonl", text);
  const ModuleTasks found = read("hostile.jsonl");
  EXPECT_EQ(found.tasks.size(), 1);
  ASSERT_EQ(found.notes.size(), 2);
  EXPECT_LT(found.notes[1].size(), 900);
  for (const char* words :
       {"left out: 10 of 11 rows: 7 that cannot be read (the first: ", "hostile.jsonl:1: ",
        "1 without a source (the first: ", "hostile.jsonl:7", "2 with", "it holds a NUL"})
    EXPECT_THAT(found.notes[1], HasSubstr(words));
}

TEST_F(ModuleReader, RowsComeInAnyForm) {
  const std::string other = "# other\n" + std::string(kSource);
  write("array.json", "[" + row(kSource) + ", " + row(other) + "]");
  write(
      "pretty.json",
      nlohmann::json{{"data", {nlohmann::json::parse(row(kSource)), nlohmann::json::parse(row(other))}}}.dump(
          2));
  write("pretty.jsonl",
        nlohmann::json::parse(row(kSource)).dump(2) + "\n" + nlohmann::json::parse(row(other)).dump(2));
  for (const char* name : {"array.json", "pretty.json", "pretty.jsonl"})
    EXPECT_THAT(names_of(read(name)), ElementsAre("1", "2")) << name;
  write("folder/a.jsonl", row(kSource));
  write("folder/data/b.json", "[" + row(other) + "]");
  write("folder/README.md", "words");
  EXPECT_TRUE(holds_modules(root_ / "folder"));
  EXPECT_THAT(names_of(read("folder")), ElementsAre("1", "1_2"));
  write("cut.json", "[" + row(kSource) + ", {\"code\": ");
  const ModuleTasks cut = read("cut.json");
  EXPECT_EQ(cut.tasks.size(), 1);
  EXPECT_THAT(cut.notes.back(), HasSubstr("the rest of the file is left out"));
}

TEST_F(ModuleReader, SourcesAreFoundByDottedPathsInFencesAndInTextsOfJson) {
  const auto only = [&](const nlohmann::json& json, const ModuleOptions& options = {}) {
    write("one.jsonl", json.dump());
    return read("one.jsonl", options).tasks.at(0);
  };
  EXPECT_EQ(only({{"a", {{"b", kSource}}}}, {.field = "a.b"}).reference, kSource);
  EXPECT_EQ(only({{"a", {{"b", "# wrong\n" + std::string(kSource)}}}, {"a.b", kSource}}, {.field = "a.b"})
                .reference,
            kSource);
  const std::string example = "```python\nclass Model(nn.Module):\n    pass\n```\n";
  EXPECT_EQ(only({{"prompt",
                   {{{"role", "user"},
                     {"content", "Look:\n" + example + "Then:\n```python\n" + kSource + "```\nGo."}}}}})
                .reference,
            kSource);
  EXPECT_EQ(only({{"reward_model", {{"ground_truth", nlohmann::json{{"code", kSource}, {"n", 1}}.dump()}}}})
                .reference,
            kSource);
  EXPECT_EQ(only({{"anything", kSource}}).reference, kSource);
}

TEST_F(ModuleReader, KnownSetsAreReadWithoutAWord) {
  const std::string named =
      "class Sum(nn.Module):\n    pass\ndef get_inputs(): pass\ndef get_init_inputs(): pass\n";
  const auto name = [&](const nlohmann::json& json, const ModuleOptions& options = {}) {
    write("one.jsonl", json.dump());
    const Task task = read("one.jsonl", options).tasks.at(0);
    return task.name + " " + task.family;
  };
  EXPECT_EQ(name({{"python_code", named}, {"entry_point", "Sum"}, {"uuid", 7}}), "7_sum one");
  EXPECT_EQ(name({{"reward_model", {{"ground_truth", kSource}}},
                  {"extra_info", {{"entry_point", "Model"}, {"level", 2}, {"uuid", "7"}}}}),
            "level2_7_model level2");
  EXPECT_EQ(name({{"reward_model", {{"ground_truth", kSource}}},
                  {"extra_info", {{"entry_point", "Model"}, {"uuid", "a1b2-c3"}}}}),
            "a1b2_c3_model one");
  EXPECT_EQ(name({{"code", kSource}, {"ops", {"torch.nn.Conv2d", "torch.relu"}}, {"data_source", "torch#2"}}),
            "1_conv2d_relu one");
  EXPECT_EQ(
      name({{"code", kSource}, {"ops", "[]"}, {"data_source", "torch#2"}}, {.level_field = "data_source"}),
      "level2_1 level2");
  EXPECT_EQ(
      name({{"PyTorch_Code_Module", kSource}, {"Op_Name", "19_ReLU"}, {"Level_ID", 1}, {"Task_ID", 19}}),
      "level1_19_relu level1");
  EXPECT_EQ(name({{"code", kSource}, {"mine", {{"title", "My Op"}}}, {"kind", "easy"}},
                 {.name_field = "mine.title", .level_field = "kind"}),
            "my_op easy");
}

TEST_F(ModuleReader, WhatIsLeftOutOfRowsIsCountedByReason) {
  const std::string other = "# other\n" + std::string(kSource);
  write("rows.jsonl", row(kSource, ", \"name\": \"a\", \"id\": 1") +
                          row(other, ", \"name\": \"A\", \"id\": 1") + row(kSource) + row("") +
                          "{\"other\": 1}\n" + row(kSource, ", \"entry_point\": \"Gone\"") +
                          row("class Model: pass\n"));
  const ModuleTasks found = read("rows.jsonl");
  EXPECT_THAT(names_of(found), ElementsAre("1_a", "1_a_2"));
  EXPECT_EQ(found.tasks[0].module->id, 1);
  EXPECT_EQ(found.tasks[1].module->id, 2);
  const std::string all = fmt::format("{}", fmt::join(found.notes, "\n"));
  for (const char* words :
       {"1 of the problems have the name of an earlier one, and a suffix (the first: 1_a_2, ",
        "left out: 5 of 7 rows: 2 without a source", "rows.jsonl:4", "1 whose class is not in their source",
        "no class Gone", "1 without get_inputs or get_init_inputs", "rows.jsonl:7",
        "1 with a source that an earlier row has (the first: "})
    EXPECT_THAT(all, HasSubstr(words));
}

TEST_F(ModuleReader, PythonSaysWhatDoesNotParseAndWhatIsMissing) {
  const std::string
      cut = std::string(kSource) + "def f(:\n",
      needs = "import no_such_package_here\n" + std::string(kSource),
      tried = "try:\n    import no_such_package_here\nexcept ImportError:\n    pass\n" + std::string(kSource),
      hub =
          "from transformers import AutoConfig\nname = 'some/model'\nc = AutoConfig.from_pretrained(name)\n" +
          std::string(kSource);
  write("rows.jsonl", row(kSource) + row(cut) + row(needs) + row(tried) + row(hub));
  ModuleOptions options{
      .pythons = {"no_such_python", TEMPER_SOURCE_DIR "/.deps/venv/bin/python3", "python3"}};
  const ModuleTasks found = read("rows.jsonl", options);
  const std::string all = fmt::format("{}", fmt::join(found.notes, "\n"));
  EXPECT_THAT(all, HasSubstr("1 whose source does not parse (the first: "));
  EXPECT_THAT(all, HasSubstr("rows.jsonl:2: line 15: "));
  if (all.find("no_such_package_here") == all.npos) GTEST_SKIP() << "no Python with torch";
  EXPECT_THAT(all, HasSubstr("1 problem, which needs the package no_such_package_here, which "));
  EXPECT_THAT(names_of(found), ElementsAre("1", "4"));
  if (all.find("transformers") != all.npos) GTEST_SKIP() << "no transformers";
  EXPECT_THAT(all, HasSubstr("1 problem, which needs files of the Hugging Face Hub of some/model ("));
  EXPECT_THAT(all, HasSubstr("env.huggingface=DIR names a cache"));
  options.huggingface = (root_ / "cache").string();
  EXPECT_THAT(refusal("rows.jsonl", options),
              HasSubstr("env.huggingface: " + options.huggingface + " is no folder"));
  fs::create_directories(root_ / "cache");
  EXPECT_THAT(refusal("rows.jsonl", options), HasSubstr("holds no hub/models--"));
  fs::create_directories(root_ / "cache/hub/models--other--model/snapshots");
  EXPECT_THAT(fmt::format("{}", fmt::join(read("rows.jsonl", options).notes, "\n")),
              HasSubstr("does not hold them"));
  fs::create_directories(root_ / "cache/hub/models--some--model/snapshots");
  EXPECT_THAT(names_of(read("rows.jsonl", options)), ElementsAre("1", "4", "5"));
  options.huggingface += "/hub";
  EXPECT_THAT(refusal("rows.jsonl", options), HasSubstr("name the folder around it"));
}

TEST_F(ModuleReader, ManyNotesAreCounted) {
  write("level1/1_Good.py", kSource);
  for (int i = 2; i < 52; ++i) write(fmt::format("level1/{}_X.py", i), "x = 1\n");
  const ModuleTasks found = read();
  ASSERT_EQ(found.notes.size(), 21);
  EXPECT_EQ(found.notes[20], "left out: 30 more");
}

TEST_F(ModuleReader, TaskFilesAreNotTakenForProblems) {
  write("tasks/a.yaml", "[]");
  write("tasks/tool.py", kSource);
  EXPECT_FALSE(holds_modules(root_ / "tasks"));
  EXPECT_FALSE(holds_modules(root_ / "tasks/a.yaml"));
  EXPECT_FALSE(holds_modules(root_ / "absent"));
  write("level1/1_A.py", kSource);
  std::vector<std::string> notes;
  EXPECT_EQ(load_tasks(root_ / "level1", {.precision = "fp16"}, &notes).at(0).module->precision, "fp16");
}

TEST(ModuleText, NamesInStringsCommentsAndBlocksAreNotDefined) {
  EXPECT_THAT(
      top_level_names("'''\nclass Model:\n'''\n# class A:\ndef f():\n    class B: pass\n    g = 1\n"
                      "h = \"\"\"x\nclass C:\n\"\"\"\nModel2: int = 3\nif x == 1:\n    pass\ni == 2\n"),
      ElementsAre("Model2", "f", "h"));
  EXPECT_THAT(top_level_names("a = 'it\\'s'\nb = 'open\nclass Model(nn.Module):\n"),
              ElementsAre("Model", "a", "b"));
  EXPECT_THAT(top_level_names("'''never closed\nclass Model:\n"), IsEmpty());
}

TEST(ModuleText, NamePartsAreSmallLettersDigitsAndBars) {
  EXPECT_EQ(task_name_part("25_GELU_"), "25_gelu");
  EXPECT_EQ(task_name_part("3D max-pool (v2)"), "3d_max_pool_v2");
  EXPECT_EQ(task_name_part("\xc3\xa4"), "");
  EXPECT_EQ(task_name_part(std::string(1000, 'a')).size(), 100);
}

}  // namespace
}  // namespace temper::env
