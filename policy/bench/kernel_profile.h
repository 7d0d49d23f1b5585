#pragma once
// Where a GPU's time goes, by kind of kernel.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "policy/bench/timeline.h"

namespace temper::policy {

// From construction to stop(). One at a time in a process; none where another profiler holds CUPTI.
class KernelProfile {
 public:
  // Errors: ConfigError where Temper was built without CUDA; WorldError with CUPTI's text.
  KernelProfile();
  ~KernelProfile();

  struct Share {
    double seconds = 0;
    long launches = 0;
  };
  struct Found {
    // By kind: "products", "attention", "between GPUs", "between host and GPU", "copies and clearing", and our own kernels
    // by name.
    std::map<std::string, Share> kinds;
    Timeline timeline;
    std::vector<Wait> waits;  // waits_between()
  };
  Found stop();  // waits for the GPU

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace temper::policy
