#include "env/verdict/known_notes.h"

#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "env/verdict/problem_sizes.h"

namespace temper::env {
namespace {

constexpr const char *kProblem = "notes_of", *kNotes = "notes";

std::string notes_digest(const Task& task) {
  return sha256(fmt::format("{}\n{}", task.reference, task.module->precision)).substr(0, 32);
}

}  // namespace

KnownNotes::KnownNotes(std::filesystem::path path) : path_(std::move(path)) {
  if (path_.empty()) return;
  try {
    for_each_problem_line(path_, [&](const nlohmann::json& line) {
      known_[line.at(kProblem).get<std::string>()] = line.at(kNotes).get<ProblemNotes>();
    });
  } catch (const ConfigError&) {
    path_.clear();
  } catch (const WorldError&) {
    path_.clear();
  }
}

const ProblemNotes* KnownNotes::find(const Task& task) const {
  if (!task.module) return nullptr;
  const auto found = known_.find(notes_digest(task));
  return found == known_.end() ? nullptr : &found->second;
}

void KnownNotes::add(const Task& task, const ProblemNotes& notes) {
  if (!task.module) return;
  const std::string digest = notes_digest(task);
  const auto [known, fresh] = known_.try_emplace(digest, notes);
  if (!fresh && known->second == notes) return;
  known->second = notes;
  if (path_.empty()) return;
  try {
    std::error_code ignored;
    std::filesystem::create_directories(path_.parent_path(), ignored);
    if (!file_) file_ = AppendFile(path_);
    file_.append(nlohmann::json{{kProblem, digest}, {kNotes, notes}}.dump() + "\n");
  } catch (const WorldError&) {  // a full disk: the next verdict says the same
    path_.clear();
  }
}

}  // namespace temper::env
