#include "env/lane_messages.h"

#include <nlohmann/json.hpp>

#include "env/task_json.h"

namespace temper {
namespace {

// Paths and compiler output may hold any bytes; JSON may not.
std::string dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LaneReady, level, machine, cuda_machine, gpu_uuid, gpu_target, notes,
                                   error, user_error)

std::string to_text(const LaneSetup& setup) {
  return dump({{"tasks", tasks_to_json(setup.tasks)},
               {"core", setup.core},
               {"gpu", setup.gpu},
               {"compile_timeout_s", setup.compile_timeout_s},
               {"run_timeout_s", setup.run_timeout_s},
               {"memory_mb", setup.memory_mb},
               {"min_pairs", setup.min_pairs},
               {"max_pairs", setup.max_pairs},
               {"naive", setup.naive},
               {"gpu_target", setup.gpu_target}});
}

LaneSetup lane_setup_from(const std::string& text) {
  const auto json = nlohmann::json::parse(text);
  return {.tasks = tasks_from_json(json.at("tasks")),
          .core = json.at("core"),
          .gpu = json.at("gpu"),
          .compile_timeout_s = json.at("compile_timeout_s"),
          .run_timeout_s = json.at("run_timeout_s"),
          .memory_mb = json.at("memory_mb"),
          .min_pairs = json.at("min_pairs"),
          .max_pairs = json.at("max_pairs"),
          .naive = json.at("naive"),
          .gpu_target = json.at("gpu_target")};
}

std::string to_text(const LaneReady& ready) { return dump(ready); }
LaneReady lane_ready_from(const std::string& text) { return nlohmann::json::parse(text).get<LaneReady>(); }

std::string to_text(const LaneRequest& request) {
  return std::to_string(request.task) + "\n" + request.source;
}

LaneRequest lane_request_from(const std::string& text) {
  return {.task = uint32_t(std::stoul(text)), .source = text.substr(text.find('\n') + 1)};
}

std::string to_text(const LaneAnswer& answer) { return dump(answer.verdict) + "\n" + answer.prepared; }

LaneAnswer lane_answer_from(const std::string& text) {
  const size_t end = text.find('\n');
  return {nlohmann::json::parse(text.substr(0, end)).get<Verdict>(), text.substr(end + 1)};
}

}  // namespace temper
