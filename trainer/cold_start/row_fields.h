#pragma once
// Fields of a row beside what is learned of it.

#include <nlohmann/json.hpp>
#include <string>

#include "trainer/cold_start/data_fields.h"

namespace temper::trainer {

// Whether the field is there and not null.
bool has(const nlohmann::json& row, const std::string& name);
// Whether it is there and not empty.
bool says_something(const nlohmann::json& row, const std::string& name);

// Errors: ConfigError naming the field, if the row has tools, images, sound or reasoning of its own that would be
// lost, or a label that says that its answer is not wanted. What `fields` names is not lost.
void refuse_what_is_lost(const nlohmann::json& row, const DataFields& fields);

}  // namespace temper::trainer
