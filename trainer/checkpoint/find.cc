#include "trainer/checkpoint/find.h"

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "policy/hugging_face/hugging_face.h"
#include "policy/parameters/piece_digest.h"
#include "policy/ranks/activity.h"
#include "policy/threads.h"
#include "trainer/config/config.h"

namespace temper::trainer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kStep = "step_";
constexpr const char* kColdStart = "cold_start_";
constexpr const char* kReplaced = ".replaced";

// The number after the prefix, or −1 if the name has another form.
int64_t number_behind(const std::string& prefix, const std::string& name) {
  if (!name.starts_with(prefix)) return -1;
  const std::string digits = name.substr(prefix.size());
  const bool number =
      !digits.empty() && digits.size() < 16 && digits.find_first_not_of("0123456789") == std::string::npos;
  return number ? std::stoll(digits) : -1;
}

// Between two renames of a save.
void put_back_replaced(const fs::path& folder) {
  std::vector<fs::path> replaced;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == kReplaced) replaced.push_back(entry.path());
  for (const fs::path& path : replaced)
    if (const fs::path dir = fs::path(path).replace_extension(); !fs::exists(dir)) rename_path(path, dir);
}

// The moment of a checkpoint by its name; later moments compare larger, and steps come after all updates of the cold
// start. Other names give {−1, −1}.
std::pair<int, int64_t> moment_of(const std::string& name) {
  if (const int64_t step = number_behind(kStep, name); step >= 0) return {1, step};
  if (const int64_t updates = number_behind(kColdStart, name); updates >= 0) return {0, updates};
  return {-1, -1};
}

std::vector<FileDigest> all_files(const Manifest& manifest) {
  std::vector<FileDigest> files = manifest.files;
  for (const RankRecord& rank : manifest.ranks) files.push_back(rank.share);
  return files;
}

void check_size(const fs::path& dir, const FileDigest& file) {
  std::error_code error;
  const uint64_t bytes = fs::file_size(dir / file.name, error);
  if (error) throw ConfigError("{}: {}", file.name, error.message());
  if (bytes != file.bytes)
    throw ConfigError("{} has {} bytes, its manifest says {}", file.name, bytes, file.bytes);
}

std::string found_digest(const fs::path& path, bool by_pieces) {
  return by_pieces ? policy::digest_of_pieces(path, policy::file_threads()) : sha256_of_file(path);
}

const FileDigest* find_file(const Manifest& manifest, const std::string& name) {
  const auto found = std::ranges::find(manifest.files, name, &FileDigest::name);
  return found == manifest.files.end() ? nullptr : &*found;
}

std::string other_shape(const Manifest& manifest, const policy::ModelConfig& shape) {
  const auto expected = shapes_of(shape);
  for (const auto& [name, dimensions] : expected) {
    const auto found = manifest.parameters.find(name);
    if (found == manifest.parameters.end()) return fmt::format("it has no parameter {}", name);
    if (found->second != dimensions)
      return fmt::format("its {} is [{}], the model's [{}]", name, fmt::join(found->second, ", "),
                         fmt::join(dimensions, ", "));
  }
  return manifest.parameters.size() == expected.size() ? "" : "it has parameters that the model has not";
}

std::string other_vocabulary(const Checkpoint& checkpoint, const fs::path& start) {
  const FileDigest* own = find_file(checkpoint.manifest, "tokenizer.model");
  if (!own) own = find_file(checkpoint.manifest, "tokenizer.json");
  if (!own) return "it has neither a tokenizer.model nor a tokenizer.json";
  const fs::path first = start / own->name;
  if (!fs::exists(first) || digest_of(first).sha256 == own->sha256) return "";
  return fmt::format("its vocabulary is another than that of {}", start.string());
}

std::string other_model(const Checkpoint& checkpoint, const RunConfig& config) {
  const policy::ModelConfig shape =
      config.model.path.empty() ? config.model.shape : policy::read_model_config(config.model.path);
  if (const std::string other = other_shape(checkpoint.manifest, shape); !other.empty()) return other;
  return other_vocabulary(checkpoint, starting_folder(config, checkpoint.dir));
}

// What a file operation found wrong, as text.
template <class F>
std::string problem_of(const F& f) {
  try {
    f();
    return "";
  } catch (const policy::LostRanks&) {
    throw;
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace

std::string checkpoint_name(const Manifest& manifest) {
  return manifest.cold_start ? fmt::format("{}{:06}", kColdStart, manifest.cold_start->updates)
                             : fmt::format("{}{:06}", kStep, manifest.step);
}

bool is_later(const fs::path& dir, const Manifest& than) {
  return moment_of(dir.filename().string()) > moment_of(checkpoint_name(than));
}

fs::path replaced_name(const fs::path& dir) { return dir.string() + kReplaced; }

std::vector<fs::path> list_checkpoints(const fs::path& folder) {
  if (fs::is_directory(folder)) put_back_replaced(folder);
  return checkpoints_in(folder);
}

bool is_of_a_step(const fs::path& dir) { return moment_of(dir.filename().string()).first == 1; }

std::vector<fs::path> checkpoints_in(const fs::path& folder) {
  std::vector<fs::path> dirs;
  if (!fs::is_directory(folder)) return dirs;
  for (const auto& entry : fs::directory_iterator(folder))
    if (moment_of(entry.path().filename().string()).first >= 0) dirs.push_back(entry.path());
  std::ranges::sort(dirs, std::greater(),
                    [](const fs::path& dir) { return moment_of(dir.filename().string()); });
  return dirs;
}

Checkpoint read_checkpoint(const fs::path& dir) {
  if (!fs::exists(dir / "manifest.json")) throw ConfigError("it has no manifest.json");
  Checkpoint checkpoint{dir, manifest_from(read_file(dir / "manifest.json"))};
  for (const FileDigest& file : all_files(checkpoint.manifest)) check_size(dir, file);
  if (checkpoint.manifest.ranks.empty()) throw ConfigError("manifest.json names no shares");
  return checkpoint;
}

std::string misfit(const Checkpoint& checkpoint, const RunConfig& config) {
  if (const std::string changes = changed_options(checkpoint.manifest.config, config); !changes.empty())
    return "it is of another config: " + changes;
  if (std::string changed = changed_words(checkpoint.manifest.words, config); !changed.empty())
    return changed;
  if (checkpoint.manifest.tasks != digest_of(load_tasks(config)))
    return fmt::format("the tasks of tasks.path {} have changed", config.tasks.path);
  return other_model(checkpoint, config);
}

std::string misfit_of_fork(const Checkpoint& checkpoint, const RunConfig& config) {
  const Manifest& manifest = checkpoint.manifest;
  if (manifest.cold_start) return "it is within a cold start, and only steps can be forked";
  if (manifest.step >= config.run.steps)
    return fmt::format("it is of step {}, and run.steps is {}: the steps before it count; raise run.steps",
                       manifest.step, config.run.steps);
  if (const std::string other = other_model(checkpoint, config); !other.empty()) return other;
  const fs::path held_near = starting_folder(config, checkpoint.dir);
  if (config.loss.kl_coefficient > 0 && !fs::exists(held_near / "config.json"))
    return fmt::format("loss.kl_coefficient holds the policy near {}, which is not there",
                       held_near.string());
  return "";
}

std::vector<std::string> changes_of_fork(const Checkpoint& checkpoint, const RunConfig& config) {
  static constexpr const char* kPlace[] = {"run.name", "run.dir", "run.overwrite", "checkpoint.fork",
                                           "checkpoint.resume"};
  std::vector<std::string> changes;
  for (const OptionChange& change : option_changes(checkpoint.manifest.config, config))
    if (std::ranges::count(kPlace, change.key) == 0) changes.push_back(change.text());
  if (std::string changed = changed_words(checkpoint.manifest.words, config); !changed.empty())
    changes.push_back(std::move(changed));
  if (checkpoint.manifest.tasks != digest_of(load_tasks(config)))
    changes.push_back(fmt::format("the tasks are others, of tasks.path {}", config.tasks.path));
  return changes;
}

void verify_files(const Checkpoint& checkpoint, const policy::Communicator& ranks) {
  const std::vector<FileDigest> files = all_files(checkpoint.manifest);
  for (size_t i = size_t(ranks.rank()); i < files.size(); i += size_t(ranks.size())) {
    check_size(checkpoint.dir, files[i]);
    if (found_digest(checkpoint.dir / files[i].name, files[i].by_pieces) != files[i].sha256)
      throw ConfigError("{} was changed or damaged: its digest differs from its manifest's", files[i].name);
    policy::made_progress();
  }
}

std::string Choice::reasons() const {
  std::vector<std::string> texts;
  for (const RefusedCheckpoint& r : refused)
    texts.push_back(fmt::format("{}: {}", r.dir.filename().string(), r.reason));
  return fmt::format("{}", fmt::join(texts, "\n"));
}

Choice choose_checkpoint(const std::vector<fs::path>& dirs, const RunConfig& config,
                         policy::Communicator& ranks, Misfit misfit_of) {
  Choice choice;
  const auto count = size_t(ranks.sum(ranks.rank() == 0 ? double(dirs.size()) : 0, "checkpoint"));
  for (size_t i = 0; i < count; ++i) {
    const fs::path dir = ranks.broadcast(ranks.rank() == 0 ? dirs[i].string() : "", 0, "checkpoint");
    std::optional<Checkpoint> read;
    const std::string mine = problem_of([&] {
      read = read_checkpoint(dir);
      if (const std::string why = misfit_of(*read, config); !why.empty()) throw ConfigError("{}", why);
      verify_files(*read, ranks);
    });
    const auto problems = ranks.all_gather(mine, "checkpoint");
    const auto bad = std::ranges::find_if(problems, [](const auto& text) { return !text.empty(); });
    if (bad == problems.end()) {
      choice.checkpoint = std::move(read);
      return choice;
    }
    choice.refused.push_back({dir, *bad});
  }
  return choice;
}

fs::path starting_folder(const RunConfig& config, const fs::path& checkpoint) {
  return config.has_cold_start() ? checkpoint.parent_path() / "cold_start" : fs::path(config.model.path);
}

std::string digest_of(const std::vector<env::Task>& tasks) {
  std::string all;
  for (const env::Task& task : tasks)
    if (!task.generated()) all += task.digest();
  return sha256(all);
}

}  // namespace temper::trainer
