// temper-admission GPU: tries tasks (trial.h) on that GPU, counted around, or on the CPU where there is none.
// Trusted. Takes one message, the tasks and options as JSON, on descriptor 3; answers with the device, then
// with a result a task, in order.

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/InferenceMode.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/machine/messages.h"
#include "base/machine/surroundings.h"
#include "env/admission/trial/trial.h"
#include "env/task/task_json.h"

namespace temper::env {
namespace {

constexpr int kSocket = 3;

at::Device device_of(int gpu) {
  const int gpus = at::globalContext().hasCUDA() ? int(at::detail::getCUDAHooks().deviceCount()) : 0;
  return gpus > 0 ? at::Device(at::kCUDA, at::DeviceIndex(gpu % gpus)) : at::Device(at::kCPU);
}

bool say(const nlohmann::json& message) {
  return send_message(kSocket, message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

nlohmann::json result_of(const Task& task, const TrialOptions& options) {
  try {
    const TrialResult result = try_task(task, options);
    return {{"problems", result.problems},
            {"allowed", result.allowed},
            {"timed", result.timed},
            {"mutants", result.mutants}};
  } catch (const std::exception& error) {
    return {{"error", torch_words(error)}};
  }
}

void run(int gpu) {
  at::set_num_threads(1);
  at::globalContext().setAllowTF32CuBLAS(false);
  at::globalContext().setAllowTF32CuDNN(false);
  const c10::InferenceMode no_autograd;
  const at::Device device = device_of(gpu);
  if (!say({{"device", device.is_cuda() ? "gpu" : "cpu"}})) return;
  const auto request = receive_message(kSocket);
  if (!request) return;
  const auto asked = nlohmann::json::parse(*request);
  const TrialOptions options{.drawer = drawer_on(device),
                             .most_elements = asked.at("most_elements").get<int64_t>(),
                             .mutant_draws = asked.at("mutant_draws").get<int64_t>()};
  for (const Task& task : tasks_from_json(asked.at("tasks").get<std::string>()))
    if (!say(result_of(task, options))) return;
}

}  // namespace
}  // namespace temper::env

int main(int count, char** arguments) {
  temper::begin_process();
  try {
    temper::env::run(count > 1 ? std::atoi(arguments[1]) : 0);
    return temper::kExitOk;
  } catch (const std::exception& error) {
    temper::env::say({{"error", error.what()}});
    return temper::kExitWorld;
  }
}
