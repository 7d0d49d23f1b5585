#pragma once
// A policy and the tokenizer it speaks through: what a Hugging Face directory holds, and a checkpoint.

#include <filesystem>
#include <string>

#include "policy/chat/choice.h"
#include "policy/hugging_face/hugging_face.h"
#include "policy/parameters/not_finite.h"
#include "policy/policy.h"
#include "policy/text/tokenizer.h"

namespace temper::trainer {

struct Model {
  policy::Policy policy;
  policy::Tokenizer tokenizer;
  policy::Origin origin = {};         // what exports keep of the folder that it came from
  policy::NotFinite not_finite = {};  // numbers that were read and are not finite
};

// Loads a model from either kind of directory. With `chat` it is decided how its conversations are written, alike on all
// ranks, and what there is to say of that is said. Errors: ConfigError, before the weights are read, if the directory's
// files do not fit together, or those of policy/chat/choice.h. Numbers that are not finite are counted; code that learns from the weights must call
// check_learnable first.
Model load_model(const std::filesystem::path& dir, const policy::PolicyOptions& options = {},
                 const policy::ChatSource* chat = nullptr);

// Says on standard error where other programs would give other ids.
void say_remarks(const policy::Tokenizer& tokenizer);

// Decides it for a tokenizer alone, and says those remarks. Errors: as above.
void decide_chat(policy::Tokenizer& tokenizer, const policy::ChatSource& source,
                 policy::Communicator* ranks = nullptr);

// Errors: ConfigError where numbers that a run would learn from are not finite, unless that is `allowed`.
void check_learnable(const policy::NotFinite& found, bool allowed);
// Says on standard error that there are some.
void warn_not_finite(const Model& model);

// The options of a policy that draws only ids of this tokenizer, even if its embedding has more rows.
policy::PolicyOptions with_tokens(policy::PolicyOptions options, const policy::Tokenizer& tokenizer);

}  // namespace temper::trainer
