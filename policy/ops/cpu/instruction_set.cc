#include "policy/ops/cpu/instruction_set.h"

namespace temper::policy::cpu {

const char* instruction_set() { return TEMPER_INSTRUCTION_SET; }

}  // namespace temper::policy::cpu
