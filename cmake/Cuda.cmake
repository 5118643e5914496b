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

option(FLASHMOE_LINEINFO "Keep source lines in device code, for profilers (four times as large)" OFF)

# flashmoe_gencode(OUT architectures... [PTX arch]): nvcc's options for machine code of these architectures.
function(flashmoe_gencode out)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PTX" "")
  set(options "")
  foreach(arch IN LISTS arg_UNPARSED_ARGUMENTS)
    list(APPEND options -gencode=arch=compute_${arch},code=sm_${arch})
  endforeach()
  if(arg_PTX)
    list(APPEND options -gencode=arch=compute_${arg_PTX},code=compute_${arg_PTX})
  endif()
  set(${out} ${options} PARENT_SCOPE)
endfunction()

# flashmoe_cuda_sources(TARGET sources... [ONLY arch sources...]): adds .cu files, compiled for every architecture; those after ONLY
# for one, if this build has it, since their kernels exist for no other. The compiler's report of registers and spills is kept
# with each object; scripts/kernel-resources makes a table of those of the library.
function(flashmoe_cuda_sources target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "ONLY")
  flashmoe_gencode(all ${FLASHMOE_CUDA_ARCHITECTURES} PTX ${FLASHMOE_CUDA_PTX})
  set(special "")
  if(arg_ONLY)
    list(POP_FRONT arg_ONLY arch)
    set(special ${arg_ONLY})
    if(arch IN_LIST FLASHMOE_CUDA_ARCHITECTURES)
      flashmoe_gencode(one ${arch})
    else()
      set(one ${all})
    endif()
  endif()
  foreach(source IN LISTS arg_UNPARSED_ARGUMENTS special)
    if(source MATCHES "[.]cu$")
      if(source IN_LIST special)
        set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS ${one})
      else()
        set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS ${all})
      endif()
    endif()
  endforeach()
  target_sources(${target} PRIVATE ${arg_UNPARSED_ARGUMENTS} ${special})
  set(options -Xptxas=-v --expt-relaxed-constexpr -Werror=all-warnings $<$<BOOL:${FLASHMOE_LINEINFO}>:-lineinfo>)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${options}>")
  set(launcher ${PROJECT_SOURCE_DIR}/scripts/keep-ptxas-report ${CMAKE_CUDA_COMPILER_LAUNCHER})  # the second may be empty
  set_target_properties(${target} PROPERTIES CUDA_COMPILER_LAUNCHER "${launcher}")
  target_link_libraries(${target} PUBLIC CUDA::cudart_static)
endfunction()
