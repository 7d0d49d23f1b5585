#include "env/plan/triton/reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/input/json.h"
#include "base/input/printable.h"
#include "env/plan/triton/steps.h"
#include "env/verdict/message.h"

namespace temper::env {
namespace {

constexpr VerdictKind kKinds[] = {VerdictKind::kFailParse, VerdictKind::kFailCompile, VerdictKind::kFailPlan,
                                  VerdictKind::kRejectPolicy};
constexpr size_t kMaxInfraBytes = 400;
constexpr JsonLimits kLimits{.bytes = 32'000'000, .depth = 16, .values = 2'000'000};

Finding malformed(const std::string& what) {
  return {VerdictKind::kFailPlan, "malformed", "launch disturbed the process that records it: " + what};
}

nlohmann::json head_of(std::string_view frame) { return parse_json_object(frame, "the reply", kLimits); }

std::string text_in(const nlohmann::json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string()) throw ConfigError("'{}' is no text", key);
  return found->get<std::string>();
}

int64_t cubins_in(const nlohmann::json& json) {
  const auto count = json.contains("cubins") ? whole_number(json.at("cubins")) : std::nullopt;
  if (!count || *count < 0 || *count > int64_t(kMaxPlanCubins))
    throw ConfigError("no number of cubins up to {}", kMaxPlanCubins);
  return *count;
}

double time_in(const nlohmann::json& json, const char* key, double most) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return 0;
  const double time = found->get<double>();
  return std::isfinite(time) ? std::clamp(time, 0.0, most) : 0;
}

// What failed, in the process's own words. That it failed is all that is believed.
Finding failure_in(const nlohmann::json& json) {
  const std::string word = text_in(json, "kind"), reason = text_in(json, "reason");
  const auto kind = std::ranges::find(kKinds, word, [](VerdictKind known) { return to_string(known); });
  if (kind == std::end(kKinds)) throw ConfigError("a failure of the kind {}", shown(word));
  if (!is_reason_code(reason)) throw ConfigError("a failure for the reason {}", shown(reason));
  return {*kind, reason, text_in(json, "message"), text_in(json, "details")};
}

class Reply {
 public:
  Reply(const std::vector<std::string>& frames, const TritonLimits& limits)
      : frames_(frames), limits_(limits) {}

  TritonReply read() {
    const nlohmann::json json = head_of(frames_.at(0));
    reply_.compile_ms = time_in(json, "compile_ms", limits_.wall_ms);
    reply_.plan_ms = time_in(json, "plan_ms", limits_.wall_ms - reply_.compile_ms);
    const std::string status = text_in(json, "status");
    if (status == "infra") {
      reply_.infra = printable(text_in(json, "error"), kMaxInfraBytes);
      return std::move(reply_);
    }
    if (status == "failed") {
      reply_.failure = failure_in(json);
      return std::move(reply_);
    }
    if (status != "ok") throw ConfigError("a status of {}", shown(status));
    reply_.failure = read_cubins(json);
    if (!reply_.failure) reply_.failure = read_plans(json);
    return std::move(reply_);
  }

 private:
  Found read_cubins(const nlohmann::json& json) {
    const int64_t count = cubins_in(json);
    if (count != int64_t(frames_.size()) - 1)
      throw ConfigError("{} cubins, of which {} came", count, frames_.size() - 1);
    for (size_t i = 1; i < frames_.size(); ++i) {
      std::string bytes = frames_[i];
      Cubin cubin;
      if (const std::string problem = read_cubin(bytes, cubin); !problem.empty())
        throw ConfigError("cubin {}: {}", i - 1, problem);
      if (cubin.architecture != 10 * limits_.target.major + limits_.target.minor)
        throw ConfigError("cubin {} is for sm_{}", i - 1, cubin.architecture);
      // No text of the process's is asked which variables matter: all do.
      if (Found refused = gate_cubin(cubin, "")) return refused;
      for (const CubinGlobal& table : tables_of(cubin, "")) make_visible(bytes, table);
      reply_.cubins.push_back(std::move(bytes));
      cubins_.push_back(std::move(cubin));
    }
    return std::nullopt;
  }

  Found read_plans(const nlohmann::json& json) {
    const auto plans = json.find("plans");
    if (plans == json.end() || !plans->is_array() || plans->size() != limits_.buffers.size())
      throw ConfigError("there is not one plan for each of the {} shapes", limits_.buffers.size());
    for (size_t i = 0; i < plans->size(); ++i) {
      reply_.plans.emplace_back();
      if (Found wrong = read_plan((*plans)[i], limits_.buffers[i], reply_.plans.back())) return wrong;
    }
    return std::nullopt;
  }

  Found read_plan(const nlohmann::json& json, const PlanBuffers& buffers, LaunchPlan& plan) const {
    // A plan is checked where it is parsed.
    if (const std::string problem = parse_plan(serialize(plan_from_json(json)), plan); !problem.empty())
      throw ConfigError("{}", problem);
    std::string problem = check_plan(plan, buffers);
    if (problem.empty()) problem = check_plan_kernels(plan, cubins_, limits_.target);
    if (problem.empty() && plan.workspace_bytes() > limits_.workspace_bytes)
      problem =
          fmt::format("{} bytes of workspaces; at most {}", plan.workspace_bytes(), limits_.workspace_bytes);
    if (problem.empty()) return std::nullopt;
    return Finding{VerdictKind::kFailPlan, "plan", problem};
  }

  const std::vector<std::string>& frames_;
  const TritonLimits& limits_;
  TritonReply reply_;
  std::vector<Cubin> cubins_;
};

}  // namespace

TritonReply read_triton_reply(const std::vector<std::string>& frames, const TritonLimits& limits) {
  try {
    if (frames.empty()) throw ConfigError("nothing was sent");
    return Reply(frames, limits).read();
  } catch (const ConfigError& e) {
    return {.infra = "", .failure = malformed(e.what()), .cubins = {}, .plans = {}};
  }
}

std::optional<int64_t> count_cubins(std::string_view frame) {
  try {
    const nlohmann::json json = head_of(frame);
    return text_in(json, "status") == "ok" ? cubins_in(json) : 0;
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

}  // namespace temper::env
