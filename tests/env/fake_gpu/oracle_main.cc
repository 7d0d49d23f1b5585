// The GPU oracle with its tensors on the CPU, where the driver of these tests has its memory.

#include <cstdlib>

#include "env/oracle/gpu_service.h"

int main(int count, char** arguments) {
  temper::env::serve_gpu_oracle(count > 1 ? std::atoi(arguments[1]) : 0, at::kCPU);
}
