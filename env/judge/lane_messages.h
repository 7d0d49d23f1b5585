#pragma once
// What a judge and its brokers say to each other, over the stream socket of a trusted child.

#include <cstdint>
#include <string>
#include <vector>

#include "env/judge/host_half.h"
#include "env/task/task.h"
#include "env/verdict/verdict.h"

namespace temper {

struct LaneSetup {  // judge → broker, once
  std::vector<Task> tasks;
  int core = 0;
  int gpu = -1;  // not negative: the lane is this GPU's
  double compile_timeout_s = 0, run_timeout_s = 0;
  int64_t memory_mb = 0, min_pairs = 0, max_pairs = 0;
  bool naive = false;                    // ask the naive judge, too
  bool gpu_far_inputs = false;           // as JudgeOptions
  std::vector<uint8_t> gpu_target = {};  // a GpuTarget; empty: the usual one
  std::string headers = {};              // folder that lanes share what they have read of CUDA's in; or empty
};

struct LaneReady {                // broker → judge, once
  std::string level = "";         // of the sandbox
  std::string machine = "";       // compiler and flags, or GPU and driver: part of every verdict's digest
  std::string cuda_machine = "";  // … of nvcc, for candidates in CUDA
  std::string gpu_uuid = "";
  std::vector<uint8_t> gpu_target = {};  // a GpuTarget: what plans for this GPU are made for
  std::vector<std::string> notes = {};   // what the user should know, a line each
  std::string error = "";                // why the lane cannot start
  bool user_error = false;               // … and whether that is the user's mistake
};

struct LaneRequest {  // judge → broker
  uint32_t task = 0;
  std::string source;   // any bytes; for a GPU's lane, what another lane has prepared
  HostHalf known = {};  // of that source's host text
};

struct LaneAnswer {
  Verdict verdict = {};
  std::string waits = {};     // not empty: no answer yet; what it waits for, "core-3, which is held by …"
  std::string prepared = "";  // not empty: no verdict yet, this goes to a GPU
  HostOrigin host = HostOrigin::kNone;
  HostHalf made = {};  // not empty: to be known from now on
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

}  // namespace temper
