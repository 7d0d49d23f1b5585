#pragma once
// AdamW over the flat buffers of a ParameterStore, and learning rate schedules.

#include <cstdint>
#include <deque>
#include <string>

#include "base/options.h"

namespace temper::policy {
class ParameterStore;
}  // namespace temper::policy

namespace temper::trainer {

struct OptimizerOptions {
  double lr = 1e-6;  // peak
  std::string schedule = "constant";
  double warmup = 0;    // share of the run
  double final_lr = 0;  // share of `lr` that linear and cosine end at
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;  // per unit of lr, matrices only
  double clip = 1;             // largest global norm of the gradient; 0 for no limit
  double max_spike = 0;        // largest norm in medians of the latest ones; 0 for no limit
  void visit(OptionVisitor& v);
};

// The learning rate when `progress` of the run is done, in [0, 1]: (k + 0.5) / n for update k of n.
double learning_rate(const OptimizerOptions& options, double progress);

// Source: Loshchilov and Hutter, 1711.05101, algorithm 2, with the decay multiplied by the learning rate as
// in torch. Exact:  independent of the number of threads.
class AdamW {
 public:
  AdamW(policy::ParameterStore& parameters, OptimizerOptions options);

  // Clips the accumulated gradients, moves the weights and zeroes the gradients. Returns the norm before the clip. If
  // that is not finite or a spike, the update is skipped: weights and moments stay as they were.
  double update(double lr);
  // Why the last update was skipped: the first parameter whose gradient was not finite and the number of others, or the
  // spike. Empty if it was not.
  const std::string& skipped() const { return skipped_; }

  void reset();                                 // as if nothing had been updated: moments zero
  int64_t updates() const { return updates_; }  // done; decides the bias correction
  // The latest 16 norms, whose median says what a spike is. Those of spikes are among them, so that what stays high is no
  // spike after eight updates; norms of 0 are not.
  const std::deque<double>& norms() const { return norms_; }
  void restore(int64_t updates, std::deque<double> norms);  // on resume, together with the store's moments
  const OptimizerOptions& options() const { return options_; }

 private:
  bool is_spike(double norm);

  policy::ParameterStore& parameters_;
  OptimizerOptions options_;
  int64_t updates_ = 0;
  std::deque<double> norms_;
  std::string skipped_;
};

}  // namespace temper::trainer
