#pragma once

#include "env/task/task.h"

namespace temper {

// As candidates write it: "float", "__nv_bfloat16"; as task files do: "f32", "bf16".
const char* c_name(ElementType type);
const char* type_name(ElementType type);

}  // namespace temper
