#pragma once
// What the benchmarks of speed share: their words, policies of random weights, and how their figures are printed.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
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

// Where the policy of a single rank computes; says so unless the figures are JSON.
RunConfig read_and_use(const SpeedWords& words);

// Calls on several ranks: how often a call is repeated, the same on all, so that it takes about so many seconds.
int64_t repetitions(double seconds, double one_s, policy::Communicator& ranks);

// This thread's device has done all that it was given.
double device_now_s(const RunConfig& config);

// Where the GPU's time of one call goes: by kind of kernel, and how much of it nothing was computed. Where several ranks
// make the call together, `prints` is true on one of them.
void print_profile(const std::function<void()>& call, bool prints = true);

}  // namespace temper::trainer
