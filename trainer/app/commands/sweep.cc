#include "trainer/app/sweep/sweep.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "policy/ranks/place.h"
#include "trainer/app/checks.h"
#include "trainer/app/commands/commands.h"
#include "trainer/app/sweep/sweep_run.h"

namespace temper::trainer {
namespace {

struct SweepWords {
  ConfigWords config;
  std::string dir;
  int64_t parallel = 0;
  bool dry = false;

  // The command line that goes on with this sweep.
  std::string again() const {
    std::string text = "temper sweep " + config.path;
    for (const std::string& word : config.overrides) text += " '" + word + "'";
    if (!dir.empty()) text += " --dir " + dir;
    return parallel > 0 ? text + fmt::format(" --parallel {}", parallel) : text;
  }
};

void say_cells(const Sweep& sweep) {
  fmt::print("{} cells in {}\n", sweep.cells.size(), sweep.dir.string());
  for (const SweepCell& start : sweep.starts) fmt::print("  {}\n", start.name);
  for (const SweepCell& cell : sweep.cells)
    fmt::print("  {}{}\n", cell.name, cell.start.empty() ? "" : "  from " + cell.start);
}

int sweep_command(const SweepWords& words) {
  if (policy::find_rank_place().size > 1)
    throw ConfigError("sweep: is started once, not by a launcher of ranks");
  const Sweep sweep = read_sweep(words.config.path, words.config.overrides, words.dir);
  for (const SweepCell& cell : sweep.cells) check_tasks(cell.config, load_tasks(cell.config));
  if (words.dry) return say_cells(sweep), kExitOk;
  return run_sweep(sweep, {.again = words.again(), .parallel = words.parallel});
}

}  // namespace

void add_sweep(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("sweep", "train one config several ways: a grid or a list, over seeds");
  const auto words = std::make_shared<SweepWords>();
  command
      ->add_option("sweep", words->config.path,
                   "SWEEP.yaml; its keys: trainer/app/sweep/sweep.h, configs/sweeps/")
      ->transform(path_word())
      ->required();
  declare_overrides(*command, words->config);
  command->add_option("--dir", words->dir, "directory of the sweep; default: the file's dir, else runs/NAME")
      ->transform(path_word());
  command->add_option("--parallel", words->parallel, "cells at a time; default: as many as GPUs, else one")
      ->check(at_least(1));
  command->add_flag("--dry-run", words->dry, "check every cell and list them");
  command->callback([=, &exit_code] { exit_code = sweep_command(*words); });
}

}  // namespace temper::trainer
