#include "trainer/config/device.h"

#include <charconv>

#include "base/error.h"
#include "policy/cuda/device.h"
#include "policy/cuda/plan.h"
#include "policy/ops/cpu/instruction_set.h"
#include "trainer/run/provenance.h"

namespace temper::trainer {

using policy::Communicator;
using policy::PolicyOptions;

namespace {

// N of cuda:N; cuda is 0.
int ordinal_of(const std::string& device) {
  if (device == "cuda") return 0;
  int ordinal = -1;
  const char *begin = device.data() + std::string_view("cuda:").size(), *end = device.data() + device.size();
  const auto [stop, error] = begin <= end ? std::from_chars(begin, end, ordinal) : std::from_chars_result{};
  if (!device.starts_with("cuda:") || error != std::errc() || stop != end || ordinal < 0)
    throw ConfigError("model.device: '{}' is not a device: must be auto, cpu, cuda or cuda:N", device);
  return ordinal;
}

std::string decide(const std::string& device, const policy::ModelConfig& shape, int64_t longest) {
  if (device != "auto") return device;
  return policy::cuda::gpu_count() > 0 && policy::cuda::unknown_to_gpu(shape, longest).empty() ? "cuda"
                                                                                               : "cpu";
}

// Each rank of a machine takes the GPU of its local rank.
int ordinal_of(const std::string& device, const Communicator& ranks) {
  if (ranks.local_size() == 1) return ordinal_of(device);
  if (device != "cuda")
    throw ConfigError("model.device: {} is one GPU for the {} ranks of this machine: must be auto or cuda",
                      device, ranks.local_size());
  if (policy::cuda::gpu_count() < ranks.local_size())
    throw ConfigError(
        "model.device: cuda: {} ranks on this machine and {} GPUs that each of them sees: start as many "
        "ranks as "
        "GPUs",
        ranks.local_size(), policy::cuda::gpu_count());
  return ranks.local_rank();
}

std::string decide_and_take(const std::string& wish, const policy::ModelConfig& shape,
                            const Communicator& ranks = policy::alone(), int64_t longest = 0) {
  const std::string device = decide(wish, shape, longest);
  if (device == "cpu") return device;
  const int ordinal = ordinal_of(device, ranks);
  if (const std::string problem = policy::cuda::unknown_to_gpu(shape, longest); !problem.empty())
    throw ConfigError("model.device: {} does not know this model: {}", device, problem);
  policy::cuda::use_gpu(ordinal);
  return fmt::format("cuda:{}", ordinal);
}

}  // namespace

void use_device(ModelOptions& model, const policy::ModelConfig& shape, const Communicator& ranks,
                int64_t longest) {
  model.device = decide_and_take(model.device, shape, ranks, longest);
}

void connect_devices(const ModelOptions& model, Communicator& ranks) {
  const bool gpu = model.policy().on_gpu();
  const double gpus = ranks.sum(gpu, "devices");
  if (gpus > 0 && gpus < ranks.size())
    throw ConfigError("model.device: {} of {} ranks have a GPU; choose cpu or cuda for all", gpus,
                      ranks.size());
  if (gpu) ranks.use_gpus();
}

PolicyOptions use_device(const std::string& device, const std::filesystem::path& model) {
  ModelOptions options;
  options.device = decide_and_take(device, policy::read_model_config(model));
  return options.policy();
}

int64_t device_free_bytes(const PolicyOptions& options) {
  return policy::cuda::describe_gpu(ordinal_of(options.device)).free_bytes;
}

int64_t device_used_bytes(const PolicyOptions& options) {
  const policy::cuda::Gpu gpu = policy::cuda::describe_gpu(ordinal_of(options.device));
  return gpu.total_bytes - gpu.free_bytes;
}

int64_t device_library_bytes(const PolicyOptions& options) {
  return policy::cuda::attention_bytes(policy::cuda::describe_gpu(ordinal_of(options.device))) +
         policy::cuda::kLibraryBytes;
}

void wait_for_device(const PolicyOptions& options) {
  if (options.on_gpu()) policy::cuda::synchronize();
}

std::string gpu_name(const PolicyOptions& options) {
  return options.on_gpu() ? policy::cuda::describe_gpu(ordinal_of(options.device)).name : "";
}

std::string device_text(const PolicyOptions& options) {
  if (!options.on_gpu()) {
    const std::string cpu = fmt::format("CPU ({}), f32", policy::cpu::instruction_set());
    return driver_version().empty() || policy::cuda::gpu_count() > 0
               ? cpu
               : fmt::format("{}; not on a GPU: {}", cpu, policy::cuda::no_gpu_reason());
  }
  const policy::cuda::Gpu gpu = policy::cuda::describe_gpu(ordinal_of(options.device));
  return fmt::format("{} ({}), bf16 with f32 master weights, {} of {} GiB free; {}", gpu.name, options.device,
                     gpu.free_bytes >> 30, gpu.total_bytes >> 30, gpu.libraries);
}

}  // namespace temper::trainer
