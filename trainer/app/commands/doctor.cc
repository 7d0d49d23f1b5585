#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/input/wrapped.h"
#include "trainer/app/commands/commands.h"
#include "trainer/app/commands/doctor_checks.h"
#include "trainer/app/help.h"
#include "trainer/config/config.h"
#include "trainer/run/provenance.h"

namespace temper::trainer {
namespace {

constexpr size_t kIndent = 25;

const char* word_of(Health health) {
  return health == Health::kWorks ? "works" : health == Health::kWithout ? "without" : "FAILS";
}

nlohmann::json json_of(const std::vector<HealthFinding>& findings, int exit_code) {
  nlohmann::json checks = nlohmann::json::array();
  for (const HealthFinding& finding : findings)
    checks.push_back({{"name", finding.name},
                      {"state", finding.health == Health::kFails ? "fails" : word_of(finding.health)},
                      {"found", finding.found},
                      {"advice", finding.advice}});
  return {{"ready", exit_code == kExitOk}, {"checks", checks}, {"program", program_facts()}};
}

void print(const HealthFinding& finding) {
  const std::string head = fmt::format("{:<9}{:<{}}", word_of(finding.health), finding.name, kIndent - 9);
  fmt::print("{}{}\n", head, wrapped(finding.found, terminal_width(), kIndent, kIndent));
  if (!finding.advice.empty()) fmt::print("{}\n", wrapped(finding.advice, terminal_width(), kIndent));
  std::fflush(stdout);  // the next check may take seconds
}

void say_end(int code) {
  if (code != kExitOk) {
    fmt::print("\nThe main job does not run here: mend what FAILS first.\n");
    return;
  }
  const std::filesystem::path config = here_or_beside_program("configs/quickstart.yaml");
  const std::string program = program_word();
  fmt::print("\nThe main job runs here{}\n",
             config.empty() ? "." : fmt::format(": {} train {}", program, config.string()));
  fmt::print("What is understood of a model's folder: {} model DIR\n", program);
}

int run_doctor(bool json) {
  std::vector<HealthFinding> findings;
  int code = kExitOk;
  for (const HealthCheck check : health_checks()) {
    const HealthFinding finding = check(findings);
    if (finding.health == Health::kFails)
      code = std::max(code, int(finding.users_mistake ? kExitUser : kExitWorld));
    findings.push_back(finding);
    if (!json) print(finding);
  }
  if (json)
    fmt::print("{}\n", json_of(findings, code).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    say_end(code);
  return code;
}

}  // namespace

void add_doctor(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "doctor", "try what a run needs of this machine: what works, what does not, and what to do about it");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "as JSON");
  command->callback([=, &exit_code] { exit_code = run_doctor(*json); });
}

}  // namespace temper::trainer
