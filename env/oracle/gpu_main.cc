// temper-gpu-oracle ORDINAL: knows the secrets, on a GPU. Trusted.

#include <cstdlib>

#include "base/error.h"
#include "base/machine/surroundings.h"
#include "env/oracle/gpu_service.h"

int main(int count, char** arguments) {
  temper::begin_process();
  if (count != 2) return temper::kExitUser;
  temper::env::serve_gpu_oracle(std::atoi(arguments[1]), at::kCUDA);
}
