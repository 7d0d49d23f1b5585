#pragma once

#include "env/task/task.h"

namespace temper::env {

// c_name is the type's name in a candidate's source ("float", "__nv_bfloat16"), type_name its name in task files
// ("f32", "bf16").
const char* c_name(ElementType type);
const char* type_name(ElementType type);

}  // namespace temper::env
