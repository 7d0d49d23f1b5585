#pragma once
// Whether code defines what a candidate must define.

#include <string_view>

#include "env/languages/language.h"

namespace temper::env {

// Defines the language's entry point, and does not only call or declare it: a function with a body, a class, or a name that is
// assigned. In time linear in the code. Code that does it in another way (a macro) is not recognised.
bool defines(std::string_view code, const Language& language);

}  // namespace temper::env
