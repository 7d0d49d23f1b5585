#pragma once
// The texts that a run's policy wrote, as data of the report's page.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "trainer/app/report/groups.h"

namespace temper::trainer {

// [{group, origin, best, worst, each, improved, regressed}]: lists of conversations, of the last two pairs
// {task, share_before, share_after, before, after}. `count`: of each list but `each`, over all groups; 0:
// none at all. What cannot be read is added to `problems`.
nlohmann::json conversations_data(const std::vector<RunGroup>& groups, int64_t count,
                                  std::vector<std::string>& problems);

}  // namespace temper::trainer
