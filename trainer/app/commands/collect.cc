#include "trainer/cold_start/collect.h"

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "policy/threads.h"
#include "trainer/app/checks.h"
#include "trainer/app/commands/commands.h"
#include "trainer/app/ranks.h"
#include "trainer/cold_start/starting_model.h"
#include "trainer/config/device.h"
#include "trainer/run/console.h"
#include "trainer/run/model.h"

namespace temper::trainer {

using env::Split;
using policy::Communicator;

namespace fs = std::filesystem;
namespace {

struct CollectWords {
  ConfigWords config;
  CollectOptions options;
  std::string out;
  bool traces = false;
};

std::vector<env::Task> asked_tasks(const RunConfig& config, const CollectWords& words) {
  std::vector<env::Task> tasks = load_tasks(config);
  return words.traces || words.options.split == Split::kGenerated
             ? traces::with_trace_tasks(config.traces, std::move(tasks), uint64_t(config.run.seed))
             : tasks;
}

// Before hours of sampling.
void check_out(const fs::path& out) {
  const fs::path folder = fs::absolute(out).parent_path();
  if (!fs::is_directory(folder))
    throw ConfigError("--out: {} is to be written in {}, which is not a folder", out.string(),
                      folder.string());
  if (fs::exists(out) && !fs::is_regular_file(out))
    throw ConfigError("--out: {} exists and is not a file", out.string());
}

void prepare_collecting(const CollectWords& words, RunConfig& config, Communicator& ranks) {
  if (config.model.path.empty() && !words.traces)
    throw ConfigError("model.path: collect needs a model; pass model.path=DIR, such as {}, or --traces",
                      (config.run.path() / "checkpoints" / "final").string());
  check_out(words.out);
  share_machine(config, ranks);
  use_device(config.model, starting_shape(config), ranks);
}

int write_examples(const std::string& out, const std::vector<rollout::ChatExample>& examples,
                   Communicator& ranks) {
  if (examples.empty()) {
    say("nothing is kept, and {} is not written", out);
    return kExitCandidateFailed;
  }
  std::string text;
  for (const rollout::ChatExample& example : examples) text += rollout::to_line(example) + "\n";
  if (ranks.rank() == 0) write_file_atomic(out, text);
  say("{} conversations in {}", examples.size(), out);
  return kExitOk;
}

int run_collect(const CollectWords& words, const RunConfig& config, Communicator& ranks) {
  connect_devices(config.model, ranks);
  policy::use_threads(config.run.threads);
  if (words.traces) {
    if (!config.rollout.context.prompt.in_sentences())
      say("asked in the short form of new policies; model.path=DIR or rollout.prompt.style=sentences asks as "
          "a published "
          "model is asked");
    env::Judge judge(config.env, asked_tasks(config, words));
    return write_examples(words.out, collect_traces(judge, config, ranks, progress_bar("corpus")), ranks);
  }
  policy::PolicyOptions options = config.model.policy();
  options.ranks = &ranks;
  const policy::ChatSource chat = config.model.chat();
  Model model = load_model(config.model.path, options, &chat);
  warn_not_finite(model);
  env::Judge judge(config.env, asked_tasks(config, words));
  const Collected collected = collect(model, judge, config, words.options, progress_bar("collect"));
  say("{} conversations sampled, {} of them {}; {} repeat another's code, {} are not UTF-8, {} are more than "
      "asked for of their task",
      collected.sampled, collected.right,
      words.options.keep == "fast" ? fmt::format("right and at least {}×", words.options.min_speedup)
                                   : "right",
      collected.again, collected.not_text, collected.over);
  return write_examples(words.out, collected.examples, ranks);
}

}  // namespace

void add_collect(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "collect",
      "sample conversations from model.path, judge them, keep good ones as data for cold_start.data");
  const auto words = std::make_shared<CollectWords>();
  declare_config(*command, words->config);
  command->add_option("--out", words->out, "file to write, a JSON object a line")
      ->transform(path_word())
      ->required();
  auto* traces = command->add_flag("--traces", words->traces,
                                   "write the grammar's conversations (`traces`) instead of sampling");
  command
      ->add_option("--keep", words->options.keep,
                   "passes: right answers; fast: those of --min-speedup; shortest: the shortest right one of "
                   "each task")
      ->check(one_of({"passes", "fast", "shortest"}));
  command
      ->add_option("--min-speedup", words->options.min_speedup,
                   "with --keep fast: the smallest speedup that is kept")
      ->check(at_least(0));
  command
      ->add_option("--per-task", words->options.per_task,
                   "most conversations per task; default: all, or one with --keep shortest")
      ->check(at_least(1));
  command
      ->add_option("--split", words->options.split,
                   "split of the tasks that are sampled: train, heldout, or traces")
      ->check(one_of({Split::kTrain, Split::kHeldOut, Split::kGenerated}));
  command
      ->add_option("--samples", words->options.samples, "samples per task; default: rollout.samples_per_task")
      ->check(at_least(1));
  for (const char* name : {"--keep", "--min-speedup", "--per-task", "--split", "--samples"})
    command->get_option(name)->excludes(traces);
  command->callback([=, &exit_code] {
    exit_code = run_ranked(
        {[=] { return read_to_sample(words->config); },
         [=](const RunConfig& config) { return asked_tasks(config, *words); },
         [=](RunConfig& config, Communicator& ranks) { prepare_collecting(*words, config, ranks); },
         [=](RunConfig& config, Communicator& ranks) { return run_collect(*words, config, ranks); }});
  });
}

}  // namespace temper::trainer
