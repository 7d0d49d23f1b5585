#pragma once
// What Python itself says of sources that it does not run: whether they parse, and what they need beside torch.

#include <string>
#include <vector>

namespace temper::env {

struct SourceNeeds {
  std::string syntax;                     // why it does not parse; empty if it does
  std::vector<std::string> missing = {};  // packages that it imports at once and that Python does not have
  bool hub = false;                       // it loads files of the Hugging Face Hub
  std::vector<std::string> models = {};   // of which repositories, where the source says so in plain texts
};

struct SourceCheck {
  std::string python;  // that was asked; empty: none answers, and `needs` is empty
  std::vector<SourceNeeds> needs;
};

// Asks the first of the interpreters that has torch, or else the first that answers; `missing` is told only by one that has torch.
// `wheels`: folders of packages that it searches before its own. Sources are parsed, and never run. Errors: WorldError once
// interrupted().
SourceCheck check_sources(const std::vector<std::string>& sources, const std::vector<std::string>& pythons,
                          const std::vector<std::string>& wheels);

}  // namespace temper::env
