#pragma once
// Runs as one HTML file that stands alone: no network, no other file, nothing of what a policy wrote is run.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "trainer/app/report/groups.h"

namespace temper::trainer {

struct ReportOptions {
  std::string title;
  int64_t conversations = 12;  // conversations per list (best, worst, improved, regressed), over all groups
};

// The data of the page. Curves are thinned to what a screen can show, and the number and length of conversations are
// bounded. A run without a step contributes what it has. Runs are read once; files that could not be read are named on
// the page.
nlohmann::json report_data(const std::vector<RunRecord>& runs, const ReportOptions& options);

// The page around the data.
std::string report_page(const nlohmann::json& data);

// JSON that may stand inside <script>: no character of it can end the element or begin another.
std::string script_safe(const nlohmann::json& data);

}  // namespace temper::trainer
