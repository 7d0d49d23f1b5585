#pragma once
// What the benchmarks of speed share: their words, policies of random weights, and how their figures are printed.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"
#include "policy/ranks/communicator.h"
#include "trainer/app/commands/commands.h"

namespace temper::trainer {

struct SpeedWords {
  ConfigWords config;
  double seconds = 5;
  bool profile = false, json = false;
};

void declare_speed(CLI::App& command, SpeedWords& words);

policy::Policy random_policy(const RunConfig& config, policy::Communicator& ranks = policy::alone());
std::vector<int32_t> random_ids(int64_t count, int64_t vocab_size, uint64_t seed);

// Errors: ConfigError if rows of so many tokens, which these `words` of the command make, have more than the policy's positions.
void check_row(int64_t tokens, std::string_view words, const RunConfig& config);

// Runs `bench` on each rank of a job, on a random policy that the ranks share. Before it the first rank prints which device the
// policy computes on, unless the figures are printed as JSON. `check` runs before anything is allocated. It returns the length of
// the longest row in tokens, or 0 for max_position_embeddings.
int on_ranks(const SpeedWords& words, const std::function<int64_t(const RunConfig&)>& check,
             const std::function<int(const RunConfig&, policy::Policy&)>& bench);

// This thread's device has done all that it was given.
double device_now_s(const RunConfig& config);

// Where the GPU's time of one call goes: by kind of kernel, and how much of it nothing was computed. Where several ranks
// make the call together, `prints` is true on one of them.
void print_profile(const std::function<void()>& call, bool prints = true);

}  // namespace temper::trainer
