# CUDA code is built wherever an nvcc is found: the toolkit's, else the one from PyPI beside the torch wheel.
# Sets TEMPER_CUDA.

set(TEMPER_CUDA_ARCHITECTURES "90a" CACHE STRING "GPU architectures to compile for")
option(TEMPER_CUDA "build the CUDA code" ON)
if(TEMPER_CUDA)
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_COMPILER)
    find_program(TEMPER_NVCC nvcc HINTS /usr/local/cuda/bin "${TEMPER_WHEELS}/nvidia/cu13/bin")
    if(TEMPER_NVCC)
      set(ENV{CUDACXX} "${TEMPER_NVCC}") # tried out below: an nvcc may be there and not fit the C++ compiler
      set(ENV{CUDAFLAGS} "$ENV{CUDAFLAGS} -L${TEMPER_WHEELS}/nvidia/cu13/lib") # PyPI's looks into lib64 only
    endif()
  endif()
  set(CMAKE_CUDA_ARCHITECTURES "${TEMPER_CUDA_ARCHITECTURES}")
  check_language(CUDA)
endif()
if(TEMPER_CUDA AND CMAKE_CUDA_COMPILER)
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD 20)
  message(STATUS "CUDA ${CMAKE_CUDA_COMPILER_VERSION}: ${CMAKE_CUDA_COMPILER}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
else()
  set(TEMPER_CUDA OFF)
  message(STATUS "CUDA: no nvcc that works, CPU only")
endif()
