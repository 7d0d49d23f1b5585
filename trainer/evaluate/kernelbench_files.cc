#include "trainer/evaluate/kernelbench_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/input/json.h"
#include "trainer/evaluate/score.h"

namespace temper::trainer {

namespace fs = std::filesystem;
using env::ComparableResult;
using env::RuntimeStats;
using nlohmann::ordered_json;

namespace {

constexpr const char* kDevice = "cuda:0";
constexpr size_t kErrorBytes = 200;  // that KernelBench keeps of what a candidate throws

ordered_json stats_json(const RuntimeStats& stats, const std::string& gpu) {
  return {{"mean", stats.mean},
          {"std", stats.std},
          {"min", stats.min},
          {"max", stats.max},
          {"num_trials", stats.num_trials},
          {"hardware", gpu},
          {"device", kDevice}};
}

ordered_json difference_texts(const std::vector<double>& differences) {
  ordered_json texts = ordered_json::array();
  for (const double difference : differences) texts.push_back(fmt::format("{:.6f}", difference));
  return texts;
}

std::string cut_error(const std::string& error) {
  return error.size() <= kErrorBytes ? error : error.substr(0, kErrorBytes - 3) + "...";
}

// What was thrown, under the key that says when.
void add_error(const ComparableResult& result, ordered_json& metadata) {
  if (result.error.empty() && result.error_name.empty()) return;
  if (result.compiled && result.correctness) {
    metadata["error_during_performance"] = result.error;
    return;
  }
  const std::string key = result.compiled ? "runtime_error" : "compilation_error";
  metadata[key] = result.compiled ? cut_error(result.error) : result.error;
  metadata[key + "_name"] = result.error_name;
  if (result.compiled && !result.traceback.empty()) metadata[key + "_traceback"] = result.traceback;
}

ordered_json metadata_of(const ComparableResult& result, const std::string& gpu) {
  if (result.timed_out) return {{"error", "Evaluation timed out"}};
  ordered_json metadata{{"hardware", gpu}, {"device", kDevice}};
  add_error(result, metadata);
  if (!result.max_difference.empty()) metadata["max_difference"] = difference_texts(result.max_difference);
  if (!result.avg_difference.empty()) metadata["avg_difference"] = difference_texts(result.avg_difference);
  if (!result.issue.empty()) {
    metadata["correctness_issue"] = result.issue;
    if (result.issue != env::kOutputMismatch) metadata["correctness_issue_name"] = "correctness_issue";
  }
  // A trial that throws or has another shape ends them all without a count.
  const bool counted = result.issue.empty() || result.issue == env::kOutputMismatch;
  if (result.compiled && result.trials > 0 && counted && (result.correctness || result.error.empty()))
    metadata["correctness_trials"] = fmt::format("({} / {})", result.trials_right, result.trials);
  if (result.excessive_speedup) metadata["excessive_speedup"] = true;
  return metadata;
}

ordered_json entry_of(const ModuleAnswer& answer) {
  const env::Verdict& verdict = answer.verdict;
  // What has no result did not come as far as KernelBench's compilation.
  const ComparableResult none{.error_name = env::to_string(verdict.kind), .error = verdict.message};
  const ComparableResult& result = verdict.comparable ? *verdict.comparable : none;
  const bool timed = result.correctness && result.runtime.timed();
  return {{"sample_id", answer.sample},
          {"compiled", result.compiled && !result.timed_out},
          {"correctness", result.correctness && !result.timed_out},
          {"metadata", metadata_of(result, verdict.gpu)},
          {"runtime", timed ? result.runtime.mean : -1.0},
          {"runtime_stats", timed ? stats_json(result.runtime, verdict.gpu) : ordered_json::object()}};
}

bool is_known(const ModuleAnswer& answer) { return !answer.verdict.infra() || answer.verdict.comparable; }

std::string key_of(const ModuleAnswer& answer) { return fmt::format("{}", answer.problem.id); }

// Right and all samples of each problem that has any.
std::vector<std::pair<std::string, std::pair<int64_t, int64_t>>> counts_of(
    const std::vector<ModuleAnswer>& answers) {
  std::vector<std::pair<std::string, std::pair<int64_t, int64_t>>> counts;
  for (const ModuleAnswer& answer : answers) {
    if (!is_known(answer)) continue;
    if (counts.empty() || counts.back().first != key_of(answer)) counts.push_back({key_of(answer), {0, 0}});
    auto& [right, all] = counts.back().second;
    const auto& result = answer.verdict.comparable;
    right += result && result->compiled && result->correctness;
    ++all;
  }
  return counts;
}

std::string gpu_of(const std::vector<ModuleAnswer>& answers) {
  for (const ModuleAnswer& answer : answers)
    if (!answer.verdict.gpu.empty()) return answer.verdict.gpu;
  return "unknown";
}

// "NVIDIA_H200", as KernelBench's folders of timings are called.
std::string folder_name(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-'; }, '_');
  return text;
}

ordered_json baselines_there(const fs::path& file) {
  if (!fs::exists(file)) return ordered_json::object();
  if (!read_json(file).is_object()) throw ConfigError("{}: it does not hold baselines", file.string());
  return ordered_json::parse(read_file(file));
}

void write_baselines(const fs::path& dir, const std::vector<ModuleAnswer>& answers) {
  const std::string gpu = gpu_of(answers);
  const fs::path file = dir / "results" / "timing" / folder_name(gpu) / "baseline_time_torch.json";
  fs::create_directories(file.parent_path());
  ordered_json all = baselines_there(file);
  const auto baselines = module_baselines(answers);
  for (const auto& [level, own] : by_level(answers)) {
    ordered_json& files = all[fmt::format("level{}", level)] = ordered_json::object();
    for (const ModuleAnswer& answer : own)
      if (const auto known = baselines.find(answer.task); known != baselines.end())
        files[answer.problem.file] = stats_json(known->second, gpu);
  }
  write_file_atomic(file, all.dump(4) + "\n");
}

void write_run(const fs::path& folder, const std::vector<ModuleAnswer>& answers) {
  fs::create_directories(folder);
  const auto text = [](const ordered_json& json) {
    return json.dump(4, ' ', false, ordered_json::error_handler_t::replace) + "\n";
  };
  for (const ModuleAnswer& answer : answers)
    write_file_atomic(folder / fmt::format("level_{}_problem_{}_sample_{}_kernel.py", answer.problem.level,
                                           answer.problem.id, answer.sample),
                      answer.code);
  write_file_atomic(folder / "eval_results.json", text(eval_results(answers)));
  write_file_atomic(folder / "strict_results.json", text(strict_results(answers)));
  const auto many = [](const auto& problem) { return problem.second.second > 1; };
  if (std::ranges::any_of(counts_of(answers), many))
    write_file_atomic(folder / "pass_at_k_results.json", text(pass_at_k_results(answers)));
}

}  // namespace

ordered_json eval_results(const std::vector<ModuleAnswer>& answers) {
  ordered_json results = ordered_json::object();
  for (const ModuleAnswer& answer : answers)
    if (is_known(answer)) results[key_of(answer)].push_back(entry_of(answer));
  return results;
}

ordered_json strict_results(const std::vector<ModuleAnswer>& answers) {
  ordered_json results = ordered_json::object();
  for (const ModuleAnswer& answer : answers) {
    const env::Verdict& v = answer.verdict;
    ordered_json result = {{"sample_id", answer.sample},
                           {"task", answer.task},
                           {"verdict", env::to_string(v.kind)},
                           {"reason", v.reason},
                           {"speedup", v.speedup},
                           {"speedup_low", v.speedup_low},
                           {"speedup_high", v.speedup_high},
                           {"candidate_us", v.candidate_us},
                           {"baseline_us", v.baseline_us}};
    if (v.problem) {
      result["weak"] = v.problem->weak;
      result["weak_comparable"] = v.problem->weak_comparable;
    }
    results[key_of(answer)].push_back(std::move(result));
  }
  return results;
}

ordered_json pass_at_k_results(const std::vector<ModuleAnswer>& answers) {
  const auto counts = counts_of(answers);
  int64_t most = 0, samples = 0, right = 0;
  for (const auto& [problem, of] : counts) {
    most = std::max(most, of.second);
    right += of.first;
    samples += of.second;
  }
  ordered_json problems = ordered_json::object(), averages = ordered_json::object();
  ordered_json metadata{{"total_problems", counts.size()},
                        {"problems_with_samples", counts.size()},
                        {"total_evaluated_samples", samples},
                        {"total_correct_samples", right}};
  for (const auto& [problem, of] : counts)
    problems[problem] = {{"total_samples", of.second}, {"correct_samples", of.first}};
  for (const int64_t k : powers_up_to(most)) {
    double sum = 0;
    int64_t with_k = 0;
    for (const auto& [problem, of] : counts) {
      if (of.second < k) continue;
      const double chance = pass_at(k, of.second, of.first);
      problems[problem][fmt::format("pass@{}", k)] = chance;
      sum += chance;
      ++with_k;
    }
    averages[fmt::format("avg_pass@{}", k)] = counts.empty() ? 0 : sum / double(counts.size());
    metadata[fmt::format("pass@{}_count", k)] = with_k;
  }
  return {{"averages", averages}, {"metadata", metadata}, {"problems", problems}};
}

std::vector<fs::path> write_kernelbench_files(
    const fs::path& dir, const std::string& run,
    const std::vector<std::pair<std::string, const std::vector<ModuleAnswer>*>>& ways) {
  std::vector<fs::path> folders;
  std::vector<ModuleAnswer> all;
  for (const auto& [way, answers] : ways) {
    all.insert(all.end(), answers->begin(), answers->end());
    for (const auto& [level, own] : by_level(*answers)) {
      folders.push_back(dir / "runs" / fmt::format("{}_level{}_{}", run, level, way));
      write_run(folders.back(), own);
    }
  }
  std::ranges::stable_sort(
      all, {}, [](const ModuleAnswer& one) { return std::pair(one.problem.level, one.problem.id); });
  if (!all.empty()) write_baselines(dir, all);
  return folders;
}

}  // namespace temper::trainer
