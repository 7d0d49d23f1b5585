#pragma once

#include "env/task.h"

namespace temper {

// As candidates write it: "float", "__nv_bfloat16".
const char* c_name(ElementType type);

}  // namespace temper
