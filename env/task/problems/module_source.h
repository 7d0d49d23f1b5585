#pragma once
// The source of a problem in PyTorch out of a value of a row, whatever stands around it. Nothing of it runs.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace temper::env {

// Names of fields of published data sets that hold a reference, in the order in which they are tried.
const std::vector<std::string>& reference_fields();

struct FoundSource {
  std::string text;         // of a problem, or of what is nearest to one; empty: there is no text
  std::string entry_point;  // that the value itself names, where it is JSON
};

// The value is Python, or Markdown in whose code blocks it stands, or JSON (also written as a text) with a field of
// reference_fields(), or a list of messages. Of several code blocks or messages the last that holds a problem counts:
// prompts show examples first.
FoundSource source_in(const nlohmann::json& value);

// Adds a class Model that derives from the class `entry_point`, where that is another one of the source. Its arguments
// may come as KernelBook's do: a list of positional and a dictionary of named ones.
std::string with_model(const std::string& source, const std::string& entry_point);

}  // namespace temper::env
