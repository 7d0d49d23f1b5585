#include "env/judge/lane_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "env/task/task_json.h"

namespace temper::env {
namespace {

// Paths and compiler output may hold any bytes; JSON may not.
std::string dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string sizes(const HostHalf& half) {
  return fmt::format("{} {}", half.stubs.size(), half.object.size());
}
std::string bytes(const HostHalf& half) { return half.stubs + half.object; }

// Its sizes come next in `head`, its bytes at `at`, which moves on.
HostHalf take_half(std::istream& head, const std::string& text, size_t& at) {
  size_t stubs = 0, object = 0;
  if (!(head >> stubs >> object) || stubs > text.size() - at || object > text.size() - at - stubs)
    throw WorldError("a message between judge and broker is damaged");
  HostHalf half{text.substr(at, stubs), text.substr(at + stubs, object)};
  at += stubs + object;
  return half;
}

}  // namespace

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LaneReady, level, machine, gpu_compilers, gpu_uuid, gpu_target, notes,
                                   error, user_error)

std::string to_text(const LaneSetup& setup) {
  return dump({{"tasks", tasks_to_json(setup.tasks)},
               {"core", setup.core},
               {"gpu", setup.gpu},
               {"gpu_lanes", setup.gpu_lanes},
               {"gpu_bytes", setup.gpu_bytes},
               {"compile_timeout_s", setup.compile_timeout_s},
               {"run_timeout_s", setup.run_timeout_s},
               {"module_timeout_s", setup.module_timeout_s},
               {"module_warm_up_s", setup.module_warm_up_s},
               {"memory_mb", setup.memory_mb},
               {"min_pairs", setup.min_pairs},
               {"max_pairs", setup.max_pairs},
               {"naive", setup.naive},
               {"compare_refused", setup.compare_refused},
               {"compared", setup.compared},
               {"believe_shares", setup.believe_shares},
               {"gpu_far_inputs", setup.gpu_far_inputs},
               {"gpu_target", setup.gpu_target},
               {"python", setup.python},
               {"huggingface", setup.huggingface},
               {"headers", setup.headers}});
}

LaneSetup lane_setup_from(const std::string& text) {
  const auto json = nlohmann::json::parse(text);
  return {.tasks = tasks_from_json(json.at("tasks")),
          .core = json.at("core"),
          .gpu = json.at("gpu"),
          .gpu_lanes = json.at("gpu_lanes"),
          .gpu_bytes = json.at("gpu_bytes"),
          .compile_timeout_s = json.at("compile_timeout_s"),
          .run_timeout_s = json.at("run_timeout_s"),
          .module_timeout_s = json.at("module_timeout_s"),
          .module_warm_up_s = json.at("module_warm_up_s"),
          .memory_mb = json.at("memory_mb"),
          .min_pairs = json.at("min_pairs"),
          .max_pairs = json.at("max_pairs"),
          .naive = json.at("naive"),
          .compare_refused = json.at("compare_refused"),
          .compared = json.at("compared"),
          .believe_shares = json.at("believe_shares"),
          .gpu_far_inputs = json.at("gpu_far_inputs"),
          .gpu_target = json.at("gpu_target"),
          .python = json.at("python"),
          .huggingface = json.at("huggingface"),
          .headers = json.at("headers")};
}

std::string to_text(const LaneReady& ready) { return dump(ready); }
LaneReady lane_ready_from(const std::string& text) { return nlohmann::json::parse(text).get<LaneReady>(); }

std::string to_text(const LaneRequest& request) {
  return fmt::format("{} {}\n", request.task, sizes(request.known)) + bytes(request.known) + request.source;
}

LaneRequest lane_request_from(const std::string& text) {
  LaneRequest request;
  size_t at = text.find('\n') + 1;
  std::istringstream head(text.substr(0, at));
  if (!(head >> request.task)) throw WorldError("a message between judge and broker is damaged");
  request.known = take_half(head, text, at);
  request.source = text.substr(at);
  return request;
}

constexpr char kWaits = '~';  // begins what is no answer yet

std::string to_text(const LaneAnswer& answer) {
  if (!answer.waits.empty()) return kWaits + answer.waits;
  return fmt::format("{}\n{} {}\n", dump(answer.verdict), int(answer.host), sizes(answer.made)) +
         bytes(answer.made) + answer.prepared;
}

LaneAnswer lane_answer_from(const std::string& text) {
  LaneAnswer answer;
  if (text.starts_with(kWaits)) {
    answer.waits = text.substr(1);
    return answer;
  }
  const size_t end = std::min(text.find('\n'), text.size());
  size_t at = std::min(text.find('\n', end + 1), text.size() - 1) + 1;
  VerdictRead read = parse_verdict(text.substr(0, end));
  answer.verdict = read.verdict ? std::move(*read.verdict) : infra("a verdict that cannot be: " + read.error);
  std::istringstream head(at > end ? text.substr(end + 1, at - end - 1) : "");
  int host = 0;
  head >> host;
  if (host < 0 || host > int(HostOrigin::kKnown)) throw WorldError("a broker's answer is damaged");
  answer.host = HostOrigin(host);
  answer.made = take_half(head, text, at);
  answer.prepared = text.substr(at);
  return answer;
}

}  // namespace temper::env
