#pragma once
// Runs as one HTML file that stands alone: no network, no other file, nothing of what a policy wrote is run.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "trainer/app/report/groups.h"

namespace temper {

struct ReportOptions {
  std::string title;
  int64_t conversations = 12;  // of each list (best, worst, improved, regressed), over all groups
};

// What the page shows: figures thinned to what a screen can show, the number of conversations and their
// length bounded. Runs without a step have what there is. Runs are read once; what could not be read is named
// on the page.
nlohmann::json report_data(const std::vector<RunRecord>& runs, const ReportOptions& options);

// The page around the data.
std::string report_page(const nlohmann::json& data);

// JSON that may stand inside <script>: no character of it can end the element or begin another.
std::string script_safe(const nlohmann::json& data);

}  // namespace temper
