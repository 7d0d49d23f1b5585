#include "trainer/cold_start/cold_start_saver.h"

#include "base/error.h"
#include "base/process.h"
#include "policy/ranks/activity.h"
#include "policy/ranks/communicator.h"

namespace temper::trainer {
namespace fs = std::filesystem;

ColdStartStats place_of(const Checkpoint& checkpoint) {
  const Manifest& manifest = checkpoint.manifest;
  TEMPER_CHECK(manifest.cold_start.has_value());
  return {.updates = manifest.cold_start->updates,
          .optimizer_updates = manifest.updates,
          .gradient_norms = manifest.gradient_norms,
          .tokens = manifest.cold_start->tokens,
          .seconds = manifest.cold_start->seconds};
}

ColdStartSaver::ColdStartSaver(const RunConfig& config, Model& model, const env::Judge& judge, Run& run,
                               std::string examples)
    : config_(config),
      model_(model),
      run_(run),
      saver_(run.dir() / "checkpoints", config.checkpoint, model),
      tasks_(digest_of(judge.tasks())),
      examples_(std::move(examples)),
      saved_s_(now_s()) {}

bool ColdStartSaver::is_due(const ColdStartStats& now) {
  if (now.updates == now.total_updates) return false;  // the whole cold start is saved then
  const int64_t every = config_.cold_start.checkpoint_every;
  const double every_s = config_.checkpoint.every_s;
  const bool late = every_s > 0 && now_s() - saved_s_ >= every_s;
  return (every > 0 && now.updates % every == 0) ||
         (every_s > 0 && run_.ranks().any(late && run_.ranks().rank() == 0, "clock"));
}

void ColdStartSaver::update(const ColdStartStats& now) {
  saver_.look();
  if (is_due(now)) save(now);
}

bool ColdStartSaver::interrupt(const ColdStartStats& now) {
  if (!run_.shared()) return false;
  const int64_t failed = saver_.failed();
  if (saved_updates_ != now.updates) save(now);
  saver_.finish();
  return saver_.failed() == failed;
}

void ColdStartSaver::save(const ColdStartStats& now) {
  if (!run_.shared()) return;
  const policy::Phase phase("save");
  saver_.save({.config = to_map(config_),
               .tasks = tasks_,
               .parameters = shapes_of(model_.policy.config()),
               .vocabulary = model_.tokenizer.vocab_size(),
               .step = 0,
               .updates = now.optimizer_updates,
               .gradient_norms = now.gradient_norms,
               .seconds = 0,
               .metric = run_.last_value(config_.checkpoint.best),
               .evaluations = nlohmann::json::array(),
               .pass_rates = {},
               .left_out = {},
               .records = growing_files(run_.dir()),
               .files = {},
               .ranks = {},
               .cold_start = ColdStartPlace{now.updates, now.tokens, now.seconds, examples_},
               .start = run_.start(),
               .words = words_of(config_)},
              fs::exists(run_.journal()) ? fs::file_size(run_.journal()) : 0);
  run_.has_checkpoint();
  saved_updates_ = now.updates;
  saved_s_ = now_s();
}

}  // namespace temper::trainer
