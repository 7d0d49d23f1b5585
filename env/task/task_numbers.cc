#include "env/task/task_numbers.h"

#include <nlohmann/json.hpp>

#include "env/task/c_names.h"

namespace temper::env {
namespace {

using Json = nlohmann::json;

Json tensor_json(const TensorSpec& tensor, const Shape& shape) {
  return {{"name", tensor.name}, {"type", type_name(tensor.type)}, {"sizes", tensor_sizes(tensor, shape)}};
}

Json input_json(const TensorSpec& input, const Shape& shape, double magnitude) {
  Json json = tensor_json(input, shape);
  TensorSpec bound;
  switch (input.distribution) {
    case Distribution::kNormal:
      json["normal"] = normal_scale(input, shape, magnitude);
      json["nonfinite"] = input.nonfinite;
      break;
    case Distribution::kUniform:
      json["uniform"] = {input.low, input.high};
      break;
    case Distribution::kDistinct:
      json["distinct"] = {input.low, input.high};
      break;
    case Distribution::kIndex:
      bound.shape = {input.index_bound};
      json["below"] = tensor_sizes(bound, shape).front();
      break;
  }
  return json;
}

Json case_json(const Task& task, const Shape& shape) {
  Json json{{"shape", shape}, {"inputs", Json::array()}, {"outputs", Json::array()}};
  for (const TensorSpec& input : task.inputs)
    json["inputs"].push_back(input_json(input, shape, task.magnitudes.front()));
  for (const TensorSpec& output : task.outputs) json["outputs"].push_back(tensor_json(output, shape));
  return json;
}

}  // namespace

std::string tasks_in_numbers(const std::vector<Task>& tasks) {
  Json list = Json::array();
  for (const Task& task : tasks) {
    Json checks = Json::array();
    for (const Shape& shape : task.check_shapes) checks.push_back(case_json(task, shape));
    Json entry{{"name", task.name},
               {"digest", task.digest()},
               {"reference", task.reference},
               {"tolerance", task.tolerance},
               {"timed", case_json(task, task.timed_shape)},
               {"checks", std::move(checks)}};
    for (const TimedShape& further : task.further_timed)
      entry["further_timed"].push_back(case_json(task, further.sizes));
    list.push_back(std::move(entry));
  }
  return list.dump(1);
}

}  // namespace temper::env
