#pragma once
// What was understood of a model's folder, part by part, before anything is computed with it.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "policy/chat/choice.h"

namespace temper::trainer {

struct ModelPart {
  std::string name;           // "chat"
  std::string found = "";     // for people, in lines
  nlohmann::json facts = {};  // the same for programs
  std::string refused = "";   // why a run would be refused; empty: it would not
};

// Every part is looked at, also where another one is refused. Weights are not read, only the headers of their files; the
// chat template is run where that is possible. Errors: WorldError of files that cannot be read.
std::vector<ModelPart> read_model_page(const std::filesystem::path& dir, const policy::ChatSource& chat);

}  // namespace temper::trainer
