#pragma once
// Where the policy computes.

#include "policy/ranks/communicator.h"
#include "trainer/config/config.h"

namespace temper {

// Decides model.device where it is auto, and takes the GPU where it is one: with several ranks on this
// machine, each the one of its local rank. `longest`: the longest row there will be, in tokens; 0: one of
// max_position_embeddings. Errors: ConfigError if there is no such GPU, or it does not know the shape, or
// there are more ranks than GPUs; WorldError if it cannot be used.
void use_device(ModelOptions& model, const ModelConfig& shape, const Communicator& ranks = alone(),
                int64_t longest = 0);

// After that, where the ranks' policies compute together. Errors: ConfigError if some have a GPU and some do
// not.
void connect_devices(const ModelOptions& model, Communicator& ranks);

// The same for a command that takes a model's directory and a --device.
PolicyOptions use_device(const std::string& device, const std::filesystem::path& model);

// Of the GPU, as long as nothing of ours is on it.
int64_t device_free_bytes(const PolicyOptions& options);
int64_t device_used_bytes(const PolicyOptions& options);
int64_t device_library_bytes(const PolicyOptions& options);  // at most

// Until the device has done all that it was given. What a clock reads before that is too early.
void wait_for_device(const PolicyOptions& options);

// The GPU's name as its driver has it, "NVIDIA H100 80GB HBM3"; empty: none.
std::string gpu_name(const PolicyOptions& options);

// One line: the device, what else is on it, the versions that decide its bits.
std::string device_text(const PolicyOptions& options);

}  // namespace temper
