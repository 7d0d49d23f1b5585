#pragma once
// A checkpoint's weights, moments and tokenizer back into a model.

#include "trainer/checkpoint/find.h"
#include "trainer/run/model.h"

namespace temper::trainer {

// This rank's master and moments, and all weights. Called on all ranks; returns what of them is not finite.
// The files have been verified before.
policy::NotFinite restore_policy(const Checkpoint& checkpoint, policy::Policy& policy);

// With the chat layout that the run began with. Errors: ConfigError naming the file.
policy::Tokenizer tokenizer_of(const Checkpoint& checkpoint);

// The policy without its weights, and the tokenizer. Errors: ConfigError naming the file.
Model empty_model(const Checkpoint& checkpoint, const policy::PolicyOptions& options);

bool is_checkpoint(const std::filesystem::path& dir);

// Refuses what load_checkpoint would refuse, as far as the manifest and the sizes of files show it. Errors: those of
// load_checkpoint.
void check_checkpoint(const std::filesystem::path& dir);

// The whole model, files verified. Errors: ConfigError naming the folder and what is wrong with it.
Model load_checkpoint(const std::filesystem::path& dir, const policy::PolicyOptions& options);

}  // namespace temper::trainer
