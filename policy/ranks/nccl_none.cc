// Temper built without its code for GPUs.

#include "policy/ranks/nccl.h"

namespace temper::policy {

std::unique_ptr<GpuTransport> make_nccl_transport(int, int, const std::function<std::string(std::string)>&) {
  throw WorldError("GPUs cannot talk to each other: this program was built without its code for GPUs");
}

std::string nccl_version() { return ""; }

}  // namespace temper::policy
