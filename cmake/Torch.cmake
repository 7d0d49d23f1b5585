# libtorch out of the PyPI wheel, without its own CMake package: that one insists on a CUDA toolkit and leaks flags.
#
# Looks in .deps/venv (made by tools/bootstrap), else asks python3. TEMPER_TORCH names the wheel's torch folder outright.

set(TEMPER_TORCH "" CACHE PATH "folder of the torch wheel (…/site-packages/torch)")
if(NOT TEMPER_TORCH)
  file(GLOB found "${PROJECT_SOURCE_DIR}/.deps/venv/lib/python3*/site-packages/torch/lib/libtorch.so")
  if(found)
    list(GET found 0 found)
    cmake_path(GET found PARENT_PATH found)
    cmake_path(GET found PARENT_PATH found)
  else()
    execute_process(COMMAND python3 -c "import torch, os; print(os.path.dirname(torch.__file__))"
                    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  set(TEMPER_TORCH "${found}")
endif()
if(NOT EXISTS "${TEMPER_TORCH}/lib/libtorch_cpu.so")
  message(FATAL_ERROR "no torch wheel found; run tools/bootstrap, or pass -DTEMPER_TORCH=…/site-packages/torch")
endif()
file(READ "${TEMPER_TORCH}/version.py" torch_version)
if(NOT torch_version MATCHES "'(2\\.11\\.[0-9]+)")
  message(FATAL_ERROR "${TEMPER_TORCH}: torch 2.11 is needed")
endif()
cmake_path(GET TEMPER_TORCH PARENT_PATH TEMPER_WHEELS)
set(TEMPER_TORCH_VERSION "${CMAKE_MATCH_1}")
message(STATUS "torch ${CMAKE_MATCH_1}: ${TEMPER_TORCH}")

set(TEMPER_RPATH "${TEMPER_TORCH}/lib" "${TEMPER_WHEELS}/nvidia/cu13/lib" "${TEMPER_WHEELS}/nvidia/cudnn/lib"
                 "${TEMPER_WHEELS}/nvidia/nccl/lib")

# torch_cpu is enough where no CUDA code is built; loading torch_cuda takes longer.
add_library(torch INTERFACE)
# Behind the system's headers: the wheel brings a fmt of its own.
target_compile_options(torch INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-idirafter '${TEMPER_TORCH}/include' -idirafter '${TEMPER_TORCH}/include/torch/csrc/api/include'>")
target_link_directories(torch INTERFACE "${TEMPER_TORCH}/lib")
target_link_libraries(torch INTERFACE torch_cpu c10 gomp)
# at::parallel_for lives in headers and runs on one thread where OpenMP is off.
target_compile_options(torch INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fopenmp>)
target_link_options(torch INTERFACE "LINKER:-rpath-link,${TEMPER_WHEELS}/nvidia/cu13/lib"
                                    "LINKER:-rpath-link,${TEMPER_WHEELS}/nvidia/cudnn/lib"
                                    "LINKER:--allow-shlib-undefined")

# ATen's GPU half registers itself when it is loaded: nothing refers to it.
add_library(torch_gpu INTERFACE)
target_link_libraries(torch_gpu INTERFACE "-Wl,--push-state,--no-as-needed" torch_cuda c10_cuda "-Wl,--pop-state")
target_link_options(torch_gpu INTERFACE "LINKER:-rpath-link,${TEMPER_WHEELS}/nvidia/nccl/lib")
