#pragma once
// Cuts texts into phrases, in which each piece is almost certain given the pieces before it.

#include <string>
#include <vector>

namespace temper::policy {

// The texts cut into phrases: runs of words, digits and marks in which each is all but certain once the three
// before it are known ("for (int", " i = 0; i <", "; ++i) {"). Pieces that stay inside a phrase hold one
// decision each, so that a name is the same token wherever it stands; merges by frequency alone would glue
// it to whatever it often stands beside. The phrases of a text, put together, are the text.
std::vector<std::string> phrases(const std::vector<std::string>& texts);

}  // namespace temper::policy
