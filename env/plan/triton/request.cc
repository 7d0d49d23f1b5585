#include <nlohmann/json.hpp>

#include "env/call/case.h"
#include "env/plan/triton/box.h"
#include "env/task/c_names.h"

namespace temper::env {
namespace {

using Json = nlohmann::json;

Json tensors_json(const std::vector<TensorSpec>& tensors, const Shape& shape) {
  Json list = Json::array();
  for (const TensorSpec& tensor : tensors)
    list.push_back(
        {{"name", tensor.name}, {"type", type_name(tensor.type)}, {"sizes", tensor_sizes(tensor, shape)}});
  return list;
}

Json shape_json(const Task& task, const Shape& shape) {
  Json dims = Json::array();
  for (const std::string& name : task.dims) dims.push_back({{"name", name}, {"value", shape.at(name)}});
  return {{"inputs", tensors_json(task.inputs, shape)},
          {"outputs", tensors_json(task.outputs, shape)},
          {"dims", std::move(dims)}};
}

Json target_json(const GpuTarget& target) {
  return {{"name", target.name},
          {"architecture", 10 * target.major + target.minor},
          {"multiprocessors", target.multiprocessors},
          {"max_shared_bytes", target.shared_per_block_optin},
          {"l2_bytes", target.l2_bytes},
          {"memory_bytes", target.memory_bytes},
          {"clock_khz", target.clock_khz},
          {"memory_clock_khz", target.memory_clock_khz},
          {"bus_bits", target.memory_bus_bits}};
}

}  // namespace

std::string triton_request(const Task& task, const std::string& source, const std::vector<Shape>& shapes,
                           const GpuTarget& target, const TritonBoxOptions& options) {
  const double wall_s = double(options.wall.count()) * 1e-3;
  Json list = Json::array();
  for (const Shape& shape : shapes) list.push_back(shape_json(task, shape));
  const Json request{{"source", source},
                     {"entry", find_language(task.language).entry_point},
                     {"wall_s", wall_s},
                     {"cpu_s", int64_t(wall_s) + 2},
                     {"memory_bytes", options.memory_bytes},
                     {"reply_bytes", options.reply_bytes},
                     {"target", target_json(target)},
                     {"shapes", std::move(list)}};
  return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace temper::env
