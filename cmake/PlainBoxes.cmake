# The programs that run in a box, built once more without CMAKE_CXX_FLAGS: a box's limit on addresses leaves a sanitizer's
# shadow no room, and its list of system calls lacks what a sanitizer calls. Their code is tested where it is a library.
include(ExternalProject)

set(boxed temper-runner temper-oracle)
if(TARGET temper-recorder)
  list(APPEND boxed temper-recorder)
endif()
list(APPEND boxed temper-lock-up temper-segments)
set_target_properties(temper-lock-up temper-segments PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/instrumented")
set_target_properties(${boxed} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/instrumented")

set(copies ${boxed})
list(TRANSFORM copies REPLACE "^temper-(lock-up|segments)$" "libtemper-\\1.so")
list(TRANSFORM copies PREPEND "<BINARY_DIR>/")
ExternalProject_Add(plain_boxes
  SOURCE_DIR "${PROJECT_SOURCE_DIR}"
  BINARY_DIR "${PROJECT_BINARY_DIR}/plain_boxes"
  CMAKE_ARGS -DCMAKE_BUILD_TYPE=Release -DTEMPER_CUDA=${TEMPER_CUDA}
  BUILD_COMMAND "${CMAKE_COMMAND}" --build <BINARY_DIR> --target ${boxed}
  BUILD_ALWAYS TRUE
  USES_TERMINAL_BUILD TRUE
  INSTALL_COMMAND "${CMAKE_COMMAND}" -E copy_if_different ${copies} "${PROJECT_BINARY_DIR}")
# The broker starts them.
add_dependencies(temper-broker plain_boxes)
