// Source:  GRPO, DeepSeekMath, 2402.03300, section 4.1.2: A = (G − mean G) / std G over a task's N samples
//          Dr. GRPO, 2503.20783, section 3.2: A = G − mean G
//          REINFORCE++, 2501.03262, by turns: A = (G − mean G) / std G over the whole batch
//          | std is the sample's (N − 1), with 1e-6 added, as the published codes have it
// The mean contains the sample itself: E[∇J] shrinks by (1 − 1/N).

#include <cmath>
#include <numeric>

#include "trainer/algorithm/advantage/estimators.h"

namespace temper::trainer {

std::vector<double> centre(std::span<const double> returns) {
  const double mean = std::accumulate(returns.begin(), returns.end(), 0.0) / double(returns.size());
  std::vector<double> advantages;
  for (double value : returns) advantages.push_back(value - mean);
  return advantages;
}

std::vector<double> normalise(std::span<const double> returns) {
  std::vector<double> advantages = centre(returns);
  if (returns.size() < 2) return advantages;
  const double squares = std::inner_product(advantages.begin(), advantages.end(), advantages.begin(), 0.0);
  const double deviation = std::sqrt(squares / double(returns.size() - 1));
  for (double& advantage : advantages) advantage /= deviation + 1e-6;
  return advantages;
}

}  // namespace temper::trainer
