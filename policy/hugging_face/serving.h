#pragma once
// What other programs read to know where an answer ends: the token ids of config.json and generation_config.json, and the
// names in the tokenizer's files.

#include <map>
#include <string>

#include "policy/hugging_face/files.h"
#include "policy/hugging_face/hugging_face.h"

namespace temper::policy {

struct Served {
  EndTokens tokens;                              // of config.json
  std::string generation_config;                 // the file's content
  std::map<std::string, std::string> tokenizer;  // name → content
};

// A model that has learned conversations ends its turns with the chat format's stop, whatever the folder that it came
// from says: that one stands first everywhere, and the ids that stood there follow it. Without `options.taught` all is
// left as it came, unless none of the ids that it names ends a turn. Files in which nothing must change stay byte for
// byte. Errors: ConfigError if a model that has learned has no chat format that is known.
Served served(const Tokenizer& tokenizer, const ExportOptions& options);

}  // namespace temper::policy
