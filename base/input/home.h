#pragma once
// `~` at the front of a path, for paths that no shell has seen: those of files, and of words like key=~/x.

#include <string>

namespace temper {

// "~" or "~/x" with $HOME, or where that is empty the user's own home, in place of the ~; "~ann/x" with the home of ann.
// Other paths as they are; "./~" names what is called ~. Errors: ConfigError if there is no such user, or no home.
std::string expand_home(const std::string& path);

}  // namespace temper
