#pragma once
// Chooses the device on which the policy computes.

#include "policy/ranks/communicator.h"
#include "trainer/config/config.h"

namespace temper::trainer {

// Resolves a model.device of auto, and makes the GPU current if the device is one; with several ranks on this machine
// each takes the GPU of its local rank. `longest` is the length in tokens of the longest row; 0 stands for
// max_position_embeddings. Errors: ConfigError if there is no such GPU, it does not support the shape, or there are
// more ranks than GPUs; WorldError if it cannot be used.
void use_device(ModelOptions& model, const policy::ModelConfig& shape,
                const policy::Communicator& ranks = policy::alone(), int64_t longest = 0);

// After that, where the ranks' policies compute together. Errors: ConfigError if some have a GPU and some do
// not.
void connect_devices(const ModelOptions& model, policy::Communicator& ranks);

// Chooses the device for a command that takes a model's directory and a --device.
policy::PolicyOptions use_device(const std::string& device, const std::filesystem::path& model);

// The GPU's free memory. It is meaningful only before this process has allocated any of it.
int64_t device_free_bytes(const policy::PolicyOptions& options);
int64_t device_used_bytes(const policy::PolicyOptions& options);
int64_t device_library_bytes(const policy::PolicyOptions& options);  // at most

// Blocks until the device has completed all enqueued work. A clock must not be read before that.
void wait_for_device(const policy::PolicyOptions& options);

// The GPU's name as its driver reports it, "NVIDIA H100 80GB HBM3"; empty for a CPU.
std::string gpu_name(const policy::PolicyOptions& options);

// One line: the device, what else is on it, the versions that decide its bits.
std::string device_text(const policy::PolicyOptions& options);

}  // namespace temper::trainer
