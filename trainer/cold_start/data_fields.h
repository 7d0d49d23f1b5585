#pragma once
// Where the rows of a cold start's data keep what is learned, for rows in a form of their own.

#include <string>

#include "base/options.h"

namespace temper::trainer {

// Dotted paths; empty: found by the names that others use (trainer/cold_start/conversation_form.h).
struct DataFields {
  std::string messages = "", prompt = "", completion = "", weight = "";
  void visit(OptionVisitor& v);
  bool operator==(const DataFields&) const = default;
};

}  // namespace temper::trainer
