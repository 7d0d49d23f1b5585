#pragma once
// The messages between a judge and its brokers, over the stream socket of a trusted child process.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "env/languages/host_half.h"
#include "env/task/task.h"
#include "env/verdict/verdict.h"

namespace temper::env {

struct LaneSetup {  // judge → broker, once
  std::vector<Task> tasks;
  int core = 0;
  int gpu = -1;           // not negative: the lane is this GPU's
  int64_t gpu_lanes = 1;  // which it has
  int64_t gpu_bytes = 0;  // JudgeOptions::module_bytes
  double compile_timeout_s = 0, run_timeout_s = 0, module_timeout_s = 0, module_warm_up_s = 0;
  int64_t memory_mb = 0, min_pairs = 0, max_pairs = 0;
  bool naive = false;                    // ask the naive judge, too
  bool compare_refused = false;          // as JudgeOptions
  double compared = 1;                   // as JudgeOptions
  bool believe_shares = false;           // as JudgeOptions
  bool gpu_far_inputs = true;            // as JudgeOptions
  std::vector<uint8_t> gpu_target = {};  // a GpuTarget; empty: the default target
  std::string python = {};               // as JudgeOptions
  std::string huggingface = {};          // as JudgeOptions
  std::string headers = {};              // folder in which lanes share CUDA headers that were read; or empty
};

struct LaneReady {           // broker → judge, once
  std::string level = "";    // the sandbox level
  std::string machine = "";  // compiler and flags, or GPU and driver: part of every verdict's digest
  // Compilers and their flags, for each language that is judged on GPUs: part of the digest of its verdicts.
  std::map<std::string, std::string> gpu_compilers = {};
  std::string gpu_uuid = "";
  std::vector<uint8_t> gpu_target = {};  // a GpuTarget: what plans for this GPU are made for
  std::vector<std::string> notes = {};   // what the user should know, a line each
  std::string error = "";                // why the lane cannot start
  bool user_error = false;               // whether that error is the user's mistake
};

struct LaneRequest {  // judge → broker
  uint32_t task = 0;
  std::string source;   // any bytes; for the lane of a GPU, LaneAnswer::prepared of another lane
  HostHalf known = {};  // the host half of that source, if the judge has it
};

struct LaneAnswer {
  Verdict verdict = {};
  std::string waits = {};  // if not empty, there is no answer yet: "core-3, which is held by …" is waited for
  std::string prepared = "";  // if not empty, there is no verdict yet: this is to be sent to a GPU's lane
  HostOrigin host = HostOrigin::kNone;
  HostHalf made = {};  // if not empty, a new host half for the judge to cache
};

std::string to_text(const LaneSetup& setup);
std::string to_text(const LaneReady& ready);
std::string to_text(const LaneRequest& request);
std::string to_text(const LaneAnswer& answer);
// Errors: std::exception saying what is wrong with the text. A verdict that cannot be is INFRA.
LaneSetup lane_setup_from(const std::string& text);
LaneReady lane_ready_from(const std::string& text);
LaneRequest lane_request_from(const std::string& text);
LaneAnswer lane_answer_from(const std::string& text);

}  // namespace temper::env
