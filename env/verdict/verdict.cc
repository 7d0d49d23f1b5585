#include "env/verdict/verdict.h"

#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/input/json.h"
#include "base/input/near_names.h"
#include "base/input/printable.h"
#include "env/task/task.h"
#include "env/verdict/details.h"
#include "env/verdict/message.h"

namespace temper::env {
namespace {

// Of a verdict in which all is as long as it may be; a kernel of its profile lies four deep.
constexpr JsonLimits kTextLimits{.bytes = 1 << 20, .depth = 8};

constexpr std::array<std::pair<VerdictKind, const char*>, 12> kNames{{
    {VerdictKind::kPass, "PASS"},
    {VerdictKind::kFailParse, "FAIL_PARSE"},
    {VerdictKind::kFailCompile, "FAIL_COMPILE"},
    {VerdictKind::kFailPlan, "FAIL_PLAN"},
    {VerdictKind::kFailRuntime, "FAIL_RUNTIME"},
    {VerdictKind::kFailTimeout, "FAIL_TIMEOUT"},
    {VerdictKind::kFailIncorrect, "FAIL_INCORRECT"},
    {VerdictKind::kFailNondet, "FAIL_NONDET"},
    {VerdictKind::kRejectPolicy, "REJECT_POLICY"},
    {VerdictKind::kHack, "HACK"},
    {VerdictKind::kSuspect, "SUSPECT"},
    {VerdictKind::kInfra, "INFRA"},
}};

}  // namespace

const char* to_string(VerdictKind kind) {
  for (const auto& [known, name] : kNames) {
    if (known == kind) return name;
  }
  TEMPER_CHECK(false, "verdict kind {}", int(kind));
  return "";
}

VerdictKind verdict_kind_from(const std::string& text) {
  std::vector<std::string> known;
  for (const auto& [kind, name] : kNames) {
    if (text == name) return kind;
    known.push_back(name);
  }
  throw ConfigError("verdict '{}' is unknown{}", printable(text), did_you_mean(text, known));
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(KernelTime, name, launches, us, share)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Profile, kernels, device_us, bytes_per_s, flops_per_s, roof_share, roof)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ShapeTime, sizes, candidate_us, baseline_us, speedup, speedup_low,
                                   speedup_high, roof_us)

namespace {

// Each number of a verdict that is a time, a ratio of times or a share.
void for_each_number(const Verdict& v, const std::function<void(const char*, double)>& look) {
  const std::pair<const char*, double> of_all[] = {{"candidate_us", v.candidate_us},
                                                   {"baseline_us", v.baseline_us},
                                                   {"speedup", v.speedup},
                                                   {"speedup_low", v.speedup_low},
                                                   {"speedup_high", v.speedup_high},
                                                   {"noise", v.noise},
                                                   {"floor_us", v.floor_us},
                                                   {"roof_us", v.roof_us},
                                                   {"compile_ms", v.compile_ms},
                                                   {"run_ms", v.run_ms},
                                                   {"total_ms", v.total_ms},
                                                   {"plan_ms", v.plan_ms},
                                                   {"check_ms", v.check_ms},
                                                   {"time_ms", v.time_ms},
                                                   {"speedup_compiled", v.speedup_compiled.value_or(0)},
                                                   {"naive.speedup", v.naive ? v.naive->speedup : 0}};
  for (const auto& [name, value] : of_all) look(name, value);
  for (const ShapeTime& at : v.shapes) {
    const std::pair<const char*, double> of_shape[] = {
        {"shapes.candidate_us", at.candidate_us}, {"shapes.baseline_us", at.baseline_us},
        {"shapes.speedup", at.speedup},           {"shapes.speedup_low", at.speedup_low},
        {"shapes.speedup_high", at.speedup_high}, {"shapes.roof_us", at.roof_us}};
    for (const auto& [name, value] : of_shape) look(name, value);
  }
  if (v.comparable) {
    for (const auto& [of, stats] : {std::pair{"comparable.runtime", &v.comparable->runtime},
                                    std::pair{"comparable.ref_runtime", &v.comparable->ref_runtime}})
      for (const double time : {stats->mean, stats->std, stats->min, stats->max}) look(of, time);
  }
  if (!v.profile) return;
  look("profile.device_us", v.profile->device_us);
  look("profile.bytes_per_s", v.profile->bytes_per_s);
  look("profile.flops_per_s", v.profile->flops_per_s);
  look("profile.roof_share", v.profile->roof_share);
  for (const KernelTime& kernel : v.profile->kernels) {
    look("profile.us", kernel.us);
    look("profile.share", kernel.share);
  }
}

// What makes a list of shapes impossible whose numbers are finite and not negative.
std::string unsound_shapes(const std::vector<ShapeTime>& shapes) {
  if (shapes.size() == 1 || shapes.size() > kMaxTimedShapes) return fmt::format("{} shapes", shapes.size());
  for (const ShapeTime& at : shapes) {
    if (at.sizes.empty()) return "a shape without sizes";
    for (const auto& [dim, size] : at.sizes)
      if (size < 1) return fmt::format("shapes.sizes.{} is {}", printable(dim), size);
    for (const auto& [name, value] :
         {std::pair{"candidate_us", at.candidate_us}, std::pair{"baseline_us", at.baseline_us},
          std::pair{"speedup", at.speedup}})
      if (value <= 0) return fmt::format("shapes.{} is {}", name, value);
  }
  return "";
}

}  // namespace

std::string unsound(const Verdict& verdict) {
  std::string why;
  for_each_number(verdict, [&](const char* name, double value) {
    if (why.empty() && !(std::isfinite(value) && value >= 0)) why = fmt::format("{} is {}", name, value);
  });
  if (!why.empty()) return why;
  if (!std::isfinite(verdict.profile_share)) return fmt::format("profile_share is {}", verdict.profile_share);
  if ((verdict.candidate_us > 0) != (verdict.baseline_us > 0))
    return fmt::format("candidate_us is {} and baseline_us {}", verdict.candidate_us, verdict.baseline_us);
  if (verdict.pairs > 0 && !(verdict.candidate_us > 0)) return "timed, but candidate_us is 0";
  if (verdict.pass() && verdict.speedup <= 0) return "a PASS without a speedup";
  return unsound_shapes(verdict.shapes);
}

Verdict sound(const Verdict& verdict) {
  const std::string why = unsound(verdict);
  if (why.empty()) return verdict;
  return infra("a verdict that cannot be: " + why);
}

void to_json(nlohmann::json& json, const Verdict& given) {
  const Verdict verdict = sound(given);
  json = {{"kind", to_string(verdict.kind)},
          {"reason", verdict.reason},
          {"message", verdict.message},
          {"candidate_us", verdict.candidate_us},
          {"baseline_us", verdict.baseline_us},
          {"speedup", verdict.speedup},
          {"speedup_low", verdict.speedup_low},
          {"speedup_high", verdict.speedup_high},
          {"pairs", verdict.pairs},
          {"noise", verdict.noise},
          {"audited", verdict.audited},
          {"floor_us", verdict.floor_us},
          {"roof_us", verdict.roof_us},
          {"profile_share", verdict.profile_share},
          {"compile_ms", verdict.compile_ms},
          {"run_ms", verdict.run_ms},
          {"total_ms", verdict.total_ms},
          {"plan_ms", verdict.plan_ms},
          {"check_ms", verdict.check_ms},
          {"time_ms", verdict.time_ms},
          {"cached", verdict.cached}};
  if (!verdict.details.empty()) json["details"] = verdict.details;
  if (verdict.judged_again) json["judged_again"] = true;
  if (verdict.overturned) json["overturned"] = true;
  if (!verdict.shapes.empty()) json["shapes"] = verdict.shapes;
  if (!verdict.configuration.empty()) json["configuration"] = verdict.configuration;
  if (!verdict.gpu.empty()) json["gpu"] = verdict.gpu;
  if (verdict.speedup_compiled) json["speedup_compiled"] = *verdict.speedup_compiled;
  if (verdict.profile) json["profile"] = *verdict.profile;
  if (verdict.naive)
    json["naive"] = {{"pass", verdict.naive->pass},
                     {"speedup", verdict.naive->speedup},
                     {"binding", verdict.naive->binding}};
  if (verdict.comparable) json["comparable"] = *verdict.comparable;
  if (verdict.problem) json["problem"] = *verdict.problem;
}

namespace {

// Errors: WorldError for what is no list of shapes, of which there are several.
std::vector<ShapeTime> shapes_of(const nlohmann::json& json) {
  if (!json.is_array() || json.empty()) throw WorldError("shapes is {}, no list of shapes", shown(json));
  for (const nlohmann::json& shape : json)
    for (const auto& [dim, size] : shape.at("sizes").items())
      if (!size.is_number_integer()) throw WorldError("shapes.sizes.{} is no integer", printable(dim));
  return json.get<std::vector<ShapeTime>>();
}

Verdict verdict_of_fields(const nlohmann::json& json) {
  Verdict verdict;
  verdict.kind = verdict_kind_from(json.at("kind").get<std::string>());
  json.at("reason").get_to(verdict.reason);
  json.at("message").get_to(verdict.message);
  json.at("candidate_us").get_to(verdict.candidate_us);
  json.at("baseline_us").get_to(verdict.baseline_us);
  json.at("speedup").get_to(verdict.speedup);
  json.at("speedup_low").get_to(verdict.speedup_low);
  json.at("speedup_high").get_to(verdict.speedup_high);
  if (!json.at("pairs").is_number_integer()) throw WorldError("pairs is not an integer");
  json.at("pairs").get_to(verdict.pairs);
  json.at("floor_us").get_to(verdict.floor_us);
  json.at("profile_share").get_to(verdict.profile_share);
  json.at("compile_ms").get_to(verdict.compile_ms);
  json.at("run_ms").get_to(verdict.run_ms);
  json.at("total_ms").get_to(verdict.total_ms);
  // Younger than some verdicts that were kept:
  verdict.details = json.value("details", "");
  if (verdict.details.size() > kMaxDetailsBytes) verdict.details.resize(kMaxDetailsBytes);
  verdict.roof_us = json.value("roof_us", 0.0);
  verdict.plan_ms = json.value("plan_ms", 0.0);
  verdict.check_ms = json.value("check_ms", 0.0);
  verdict.time_ms = json.value("time_ms", 0.0);
  verdict.noise = json.value("noise", 0.0);
  verdict.audited = json.value("audited", false);
  verdict.judged_again = json.value("judged_again", false);
  verdict.overturned = json.value("overturned", false);
  if (const auto shapes = json.find("shapes"); shapes != json.end()) verdict.shapes = shapes_of(*shapes);
  verdict.configuration = json.value("configuration", "");
  verdict.gpu = json.value("gpu", "");
  if (const auto compiled = json.find("speedup_compiled"); compiled != json.end())
    verdict.speedup_compiled = compiled->get<double>();
  if (const auto profile = json.find("profile"); profile != json.end())
    verdict.profile = profile->get<Profile>();
  json.at("cached").get_to(verdict.cached);
  if (const auto naive = json.find("naive"); naive != json.end())
    verdict.naive = {naive->at("pass"), naive->at("speedup"), naive->at("binding")};
  if (const auto comparable = json.find("comparable"); comparable != json.end())
    verdict.comparable = comparable->get<ComparableResult>();
  if (const auto problem = json.find("problem"); problem != json.end())
    verdict.problem = problem->get<ProblemNotes>();
  return verdict;
}

}  // namespace

VerdictRead read_verdict(const nlohmann::json& json) {
  try {
    if (!json.is_object()) return {{}, "it is not an object"};
    Verdict verdict = verdict_of_fields(json);
    if (std::string why = unsound(verdict); !why.empty()) return {{}, std::move(why)};
    return {std::move(verdict), ""};
  } catch (const std::exception& e) {
    return {{}, scrub(e.what())};
  }
}

VerdictRead parse_verdict(const std::string& text) {
  try {
    return read_verdict(parse_json(text, "it", kTextLimits));
  } catch (const ConfigError& e) {
    return {{}, scrub(e.what())};
  }
}

void from_json(const nlohmann::json& json, Verdict& verdict) {
  VerdictRead read = read_verdict(json);
  if (!read.verdict) throw std::invalid_argument("no verdict: " + read.error);
  verdict = std::move(*read.verdict);
}

void conclude(Verdict& verdict, const Found& found) {
  verdict.kind = found ? found->kind : VerdictKind::kPass;
  verdict.reason = found ? found->reason : "";
  verdict.message = verdict_message(verdict, found ? found->detail : "");
  verdict.details = found ? verdict_details(verdict, found->details) : "";
}

Verdict verdict_of(const Finding& finding) {
  Verdict verdict;
  conclude(verdict, finding);
  return verdict;
}

Verdict verdict_of(VerdictKind kind, const std::string& reason) { return verdict_of(Finding{kind, reason}); }

Verdict infra(const std::string& reason) { return verdict_of(VerdictKind::kInfra, scrub(reason)); }

Verdict unusable_problem(const std::string& why) {
  Verdict verdict = infra(why);
  verdict.problem = ProblemNotes{.unusable = scrub(why, kMostNoteBytes)};
  return verdict;
}

Verdict told(const Verdict& verdict) {
  if (!verdict.naive || !verdict.naive->binding || verdict.infra()) return verdict;
  if (!verdict.naive->pass && !verdict.pass()) return verdict;
  Verdict heard;
  heard.problem = verdict.problem;
  heard.kind = verdict.naive->pass ? VerdictKind::kPass : VerdictKind::kFailIncorrect;
  heard.speedup = heard.speedup_low = heard.speedup_high = verdict.naive->speedup;
  heard.message = verdict_message(heard, verdict.naive->pass ? "" : "allclose is false");
  return heard;
}

}  // namespace temper::env
