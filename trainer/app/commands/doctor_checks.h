#pragma once
// Checks of what a run needs from a machine. Each is tried for real.

#include <string>
#include <vector>

namespace temper::trainer {

enum class Health { kWorks, kWithout, kFails };  // kWithout: the main job runs, but not all there is

struct HealthFinding {
  std::string name;
  Health health = Health::kWorks;
  std::string found;   // "g++ 12.2.0"
  std::string advice;  // what to do, or what it is like without
  bool users_mistake = false;
};

// A check never throws. `before` contains the results of earlier checks.
using HealthCheck = HealthFinding (*)(const std::vector<HealthFinding>& before);

const std::vector<HealthCheck>& health_checks();

}  // namespace temper::trainer
