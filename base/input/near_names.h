#pragma once
// "Did you mean …?": the known names that are nearest to one that nobody knows.

#include <string>
#include <string_view>
#include <vector>

namespace temper {

// The nearest of `known`, at most three, all equally near, the shorter first; none where none is near. What
// is typed wrongly is a letter left out, put in, exchanged or swapped with its neighbour: one in three at
// most, and four in all. The last part of a dotted name may stand for it: `lr` for `optimizer.lr`. A name of
// four letters and more that is part of others stands for them where nothing is nearer.
std::vector<std::string> near_names(std::string_view name, const std::vector<std::string>& known);

// The first of them, or "".
std::string nearest_name(std::string_view name, const std::vector<std::string>& known);

// "; did you mean a, b or c?", or "".
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

}  // namespace temper
