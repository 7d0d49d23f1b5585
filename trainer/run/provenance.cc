#include "trainer/run/provenance.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/input/printable.h"
#include "base/machine/child_process.h"
#include "base/machine/cores.h"
#include "policy/cuda/device.h"
#include "policy/ops/cpu/instruction_set.h"
#include "policy/ranks/nccl.h"
#include "policy/ranks/watch.h"
#include "trainer/run/build_facts.h"

namespace temper::trainer {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostWordBytes = 2000, kMostCommandBytes = 16 << 10;

std::string g_command, g_program = "temper";  // set once, before any thread

// A word that a shell would read as this one.
std::string quoted(const std::string& word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=/.,:@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  return shell_word(word);
}

Json libraries() {
  Json list = Json::array(
      {Json::array({"torch", kBuild.torch}), Json::array({"CPU ops", policy::cpu::instruction_set()})});
  for (const auto& [name, version] : policy::cuda::library_versions()) list.push_back({name, version});
  if (const std::string nccl = policy::nccl_version(); !nccl.empty()) list.push_back({"NCCL", nccl});
  const std::string driver = driver_version();
  list.push_back({"driver", driver.empty() ? "none" : driver});
  return list;
}

}  // namespace

Json program_facts() {
  std::string compiler = kBuild.compiler;
  if (*kBuild.cuda_compiler != '\0') compiler += fmt::format(", nvcc {}", kBuild.cuda_compiler);
  return {{"version", kBuild.version},
          {"commit", *kCommit == '\0' ? "unknown" : kCommit},
          {"compiler", compiler},
          {"flags", kBuild.flags},
          {"libraries", libraries()}};
}

std::string program_text(const Json& facts) {
  const auto word = [&](const char* key) { return facts.at(key).get<std::string>(); };
  std::string text = fmt::format("temper {}\n{:<10}{}\n{:<10}{}\n{:<10}{}\n", word("version"), "commit",
                                 word("commit"), "compiler", word("compiler"), "flags", word("flags"));
  for (const Json& library : facts.at("libraries"))
    text += fmt::format("{:<10}{}\n", library.at(0).get<std::string>(), library.at(1).get<std::string>());
  return text;
}

void note_command(int argc, const char* const* argv) {
  std::string command;
  for (int i = 0; i < argc && command.size() < kMostCommandBytes; ++i) {
    if (i > 0) command += ' ';
    command += quoted(printable(argv[i], kMostWordBytes));
  }
  g_command = command;
  if (argc > 0 && *argv[0] != '\0') g_program = quoted(printable(argv[0], kMostWordBytes));
}

std::string program_word() { return g_program; }

Json start_facts(int64_t ranks) {
  Json facts = program_facts();
  std::error_code ignored;
  facts["command"] = g_command;
  facts["directory"] = printable(std::filesystem::current_path(ignored).string(), kMostWordBytes);
  facts["host"] = printable(policy::host_name());
  facts["cores"] = allowed_core_count();
  facts["gpus"] = policy::cuda::gpu_names();
  facts["ranks"] = ranks;
  return facts;
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.82.07  Wed Aug …"
std::string driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  std::istringstream words(line);
  for (std::string word; words >> word;)
    if (word.find_first_not_of("0123456789.") == std::string::npos && word.find('.') != std::string::npos)
      return word;
  return "";
}

}  // namespace temper::trainer
