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
                        quoted(kSource) + "}\r\n");
  const ModuleTasks found = read("kb.jsonl");
  EXPECT_TRUE(holds_modules(root_ / "kb.jsonl"));
  EXPECT_THAT(names_of(found), ElementsAre("3", "level1_19_relu"));
  EXPECT_EQ(found.tasks[0].family, "kb");
  EXPECT_EQ(found.tasks[1].module->file, "19_ReLU.py");
  EXPECT_EQ(found.tasks[1].reference, kSource);
}

TEST_F(ModuleReader, TheFirstFieldWithAProblemIsTakenOrTheOneNamed) {
  const std::string other = "# other\n" + std::string(kSource);
  write("a.jsonl", "{\"code\": \"print(1)\", \"python_code\": " + quoted(kSource) +
                       ", \"mine\": " + quoted(other) + "}\n");
  EXPECT_EQ(read("a.jsonl").tasks.at(0).reference, kSource);
  EXPECT_EQ(read("a.jsonl", {.field = "mine"}).tasks.at(0).reference, other);
  EXPECT_THAT(refusal("a.jsonl", {.field = "code"}), HasSubstr("a.jsonl:1: field code: no class Model"));
  EXPECT_THAT(refusal("a.jsonl", {.field = "absent"}), HasSubstr("field absent: it is missing or no text"));
}

// KernelBook's get_init_inputs returns a list of positional and a dictionary of named arguments.
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

TEST_F(ModuleReader, HostileLinesAreNamedAndTheRestIsRead) {
  std::string text = "{\"a\": " + std::string(100'000, '[') + "\n";  // deep
  text += "{\"code\": \"class Model\\u0000\"}\n";                    // no problem
  text += std::string("{\"code\": \"\0\"}\n", 14);                   // NUL in JSON
  text += "{\"code\": \"" + std::string(100 << 20, 'x') + "\"}\n";   // 100 MB
  text += "[1, 2]\nnot json\n{\"code\": 7}\n";
  text += "{\"code\": " + quoted(std::string(kSource) + '\0') + "}\n";
  text += "{\"code\": " + quoted(kSource) + "}";  // without a newline
  write("hostile.jsonl", text);
  const ModuleTasks found = read("hostile.jsonl");
  EXPECT_THAT(names_of(found), ElementsAre("9"));
  ASSERT_EQ(found.notes.size(), 8);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_THAT(found.notes[i], HasSubstr(fmt::format("hostile.jsonl:{}", i + 1)));
    EXPECT_LT(found.notes[i].size(), 400);
  }
  EXPECT_THAT(found.notes[3], HasSubstr("a line of more than 4194304 bytes"));
  EXPECT_THAT(found.notes[7], HasSubstr("field code: it holds a NUL"));
}

TEST_F(ModuleReader, ManyNotesAreCounted) {
  std::string text = "{\"code\": " + quoted(kSource) + "}\n";
  for (int i = 0; i < 50; ++i) text += "{}\n";
  write("many.jsonl", text);
  const ModuleTasks found = read("many.jsonl");
  ASSERT_EQ(found.notes.size(), 21);
  EXPECT_EQ(found.notes[20], "and 30 more that are left out");
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
