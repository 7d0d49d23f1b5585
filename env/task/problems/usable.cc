#include "env/task/problems/usable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/files.h"
#include "base/input/printable.h"
#include "env/task/hub_cache.h"
#include "env/task/problems/module_check.h"

namespace temper::env {
namespace {

constexpr size_t kMostNamed = 4;

// What tools/bootstrap --problems installs.
const std::set<std::string> kOfProblems = {"einops", "transformers"};

struct Absent {
  int64_t count = 0;
  std::string first;
};

std::string first_few(const std::set<std::string>& names) {
  std::vector<std::string> few;
  for (const std::string& name : names)
    if (few.size() < kMostNamed) few.push_back(printable(name));
  return fmt::format("{}{}", fmt::join(few, ", "),
                     names.size() > few.size() ? fmt::format(" and {} more", names.size() - few.size()) : "");
}

std::string problems_text(int64_t count) {
  return count == 1 ? "1 problem, which needs" : fmt::format("{} problems, which need", count);
}

std::string way_to(const std::string& package, const std::string& python) {
  if (kOfProblems.contains(package))
    return fmt::format("`tools/bootstrap --problems` or `{} -m pip install {}` installs it", python, package);
  return package.starts_with('_') ? "it belongs to the program from which the problem was taken"
                                  : fmt::format("`{} -m pip install {}` may install it", python, package);
}

class Sieve {
 public:
  Sieve(FoundProblems& found, const ModuleOptions& options, std::string python)
      : found_(found), options_(options), python_(std::move(python)) {}

  bool leaves_out(const FoundProblem& problem, const SourceNeeds& needs) {
    if (!needs.syntax.empty()) {
      if (problem.of_row)
        found_.left_out.add("whose source does not parse",
                            fmt::format("{}: {}", problem.origin, needs.syntax));
      else
        found_.notes.push_back(
            fmt::format("left out: {}: it does not parse: {}", problem.origin, needs.syntax));
      return true;
    }
    if (!needs.missing.empty()) {
      note(packages_[needs.missing.front()], problem);
      return true;
    }
    return needs.hub && lacks_hub(problem, needs);
  }

  void tell() const {
    for (const auto& [package, absent] : packages_)
      found_.notes.push_back(fmt::format(
          "left out: {} the package {}, which {} does not have ({}{}); {}", problems_text(absent.count),
          package, python_, absent.count > 1 ? "the first: " : "", absent.first, way_to(package, python_)));
    if (hub_.count == 0) return;
    const std::string which = absent_models_.empty() ? "" : fmt::format(" of {}", first_few(absent_models_));
    found_.notes.push_back(fmt::format(
        "left out: {} files of the Hugging Face Hub{} ({}{}); {}", problems_text(hub_.count), which,
        hub_.count > 1 ? "the first: " : "", hub_.first,
        options_.huggingface.empty()
            ? "env.huggingface=DIR names a cache that holds them, as HF_HOME does"
            : fmt::format("the cache env.huggingface {} does not hold them", options_.huggingface)));
  }

 private:
  static void note(Absent& absent, const FoundProblem& problem) {
    if (absent.count++ == 0) absent.first = problem.origin;
  }

  bool lacks_hub(const FoundProblem& problem, const SourceNeeds& needs) {
    bool lacks = options_.huggingface.empty();
    for (const std::string& model : needs.models) {
      if (!options_.huggingface.empty() && holds_repository(options_.huggingface, model)) continue;
      lacks = true;
      absent_models_.insert(model);
    }
    if (lacks) note(hub_, problem);
    return lacks;
  }

  FoundProblems& found_;
  const ModuleOptions& options_;
  const std::string python_;
  std::map<std::string, Absent> packages_;
  Absent hub_;
  std::set<std::string> absent_models_;
};

}  // namespace

void leave_out_copies(FoundProblems& found) {
  std::map<std::string, std::string> seen;  // digest → origin
  std::erase_if(found.problems, [&](const FoundProblem& problem) {
    if (!problem.of_row) return false;
    const auto [first, fresh] = seen.emplace(sha256(problem.source), problem.origin);
    if (!fresh)
      found.left_out.add("with a source that an earlier row has",
                         fmt::format("{}, as {}", problem.origin, first->second));
    return !fresh;
  });
}

void leave_out_unusable(FoundProblems& found, const ModuleOptions& options) {
  if (!options.huggingface.empty()) hub_folder(options.huggingface);
  if (options.pythons.empty() || found.problems.empty()) return;
  std::vector<std::string> sources;
  for (const FoundProblem& problem : found.problems) sources.push_back(problem.source);
  const SourceCheck check = check_sources(sources, options.pythons, options.wheels);
  if (check.python.empty()) {
    found.notes.push_back(fmt::format("whether sources parse is not known: no Python answers as {}",
                                      fmt::join(options.pythons, " or ")));
    return;
  }
  Sieve sieve(found, options, check.python);
  std::vector<size_t> order(found.problems.size());  // as they were read: the first of each reason is told
  std::iota(order.begin(), order.end(), size_t(0));
  std::ranges::stable_sort(order, {}, [&](size_t i) { return found.problems[i].row; });
  std::vector<bool> usable(order.size());
  for (const size_t i : order) usable[i] = !sieve.leaves_out(found.problems[i], check.needs[i]);
  size_t i = 0;
  std::erase_if(found.problems, [&](const FoundProblem&) { return !usable[i++]; });
  sieve.tell();
}

}  // namespace temper::env
