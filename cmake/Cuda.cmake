# SPDX-License-Identifier: MIT
# Switches CUDA on where nvcc is found. Sets FLASHMOE_HAS_CUDA.
#
# FLASHMOE_CUDA_ARCHITECTURES lists what to build machine code for. A trailing "a" keeps to one architecture's own
# instructions, which have no portable PTX: that is why each target is spelled out as a -gencode of its own.
set(FLASHMOE_CUDA_ARCHITECTURES "80;89;90a" CACHE STRING "GPU architectures to build machine code for")
set(FLASHMOE_CUDA_PTX "80" CACHE STRING "Architecture of the PTX that newer GPUs compile when loaded; empty for none")
set(FLASHMOE_HAS_CUDA OFF)

if(FLASHMOE_CUDA)
  find_program(FLASHMOE_NVCC nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
  if(FLASHMOE_NVCC)
    if(NOT CMAKE_CUDA_COMPILER)
      set(CMAKE_CUDA_COMPILER ${FLASHMOE_NVCC})
    endif()
    set(CMAKE_CUDA_ARCHITECTURES OFF)  # our own -gencode options say it
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc has C++20
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    find_package(CUDAToolkit REQUIRED)
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
    set(FLASHMOE_HAS_CUDA ON)
  else()
    message(STATUS "flashmoe: no nvcc found, so this build has no CUDA backend")
  endif()
endif()

# flashmoe_cuda_sources(TARGET sources...): adds .cu files, compiled for every architecture. The compiler's report of
# registers and spills is kept beside each object; scripts/kernel-resources makes a table of those of the library.
function(flashmoe_cuda_sources target)
  target_sources(${target} PRIVATE ${ARGN})
  set(options -Xptxas=-v -lineinfo --expt-relaxed-constexpr -Werror=all-warnings)
  foreach(arch IN LISTS FLASHMOE_CUDA_ARCHITECTURES)
    list(APPEND options -gencode=arch=compute_${arch},code=sm_${arch})
  endforeach()
  if(FLASHMOE_CUDA_PTX)
    list(APPEND options -gencode=arch=compute_${FLASHMOE_CUDA_PTX},code=compute_${FLASHMOE_CUDA_PTX})
  endif()
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${options}>")
  set(launcher ${PROJECT_SOURCE_DIR}/scripts/keep-ptxas-report ${CMAKE_CUDA_COMPILER_LAUNCHER})  # the second may be empty
  set_target_properties(${target} PROPERTIES CUDA_COMPILER_LAUNCHER "${launcher}")
  target_link_libraries(${target} PUBLIC CUDA::cudart_static)
endfunction()
