#pragma once
// What can be said of a candidate's source before a compiler sees it.

#include <string>

#include "env/languages/language.h"
#include "env/verdict/verdict.h"

namespace temper::env {

// Refuses a source that is too long, has a NUL byte or does not mention the entry point.
Found gate_source(const Language& language, const std::string& source);

}  // namespace temper::env
