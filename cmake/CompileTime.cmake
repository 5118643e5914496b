# SPDX-License-Identifier: MIT
# What makes a whole build quick. Headers take longer to compile than most of our files, and their templates are compiled
# again with each of them: so files of one target are compiled together. (Precompiled headers gain nothing beside that: with
# so few compilations left, what they save is what they cost.)

# A file that has options of its own stays alone.
set(CMAKE_UNITY_BUILD ${FLASHMOE_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)

# Every compilation pays for its headers and templates again, and keeps one core busy: few cores are best served by few.
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
if(cores LESS 4)
  set(FLASHMOE_FEW_CORES ON)
else()
  set(FLASHMOE_FEW_CORES OFF)
endif()

# flashmoe_compile_together(TARGET PART sources...): of a target whose UNITY_BUILD_MODE is GROUP.
function(flashmoe_compile_together target part)
  if(FLASHMOE_FEW_CORES)
    set(part whole)
  endif()
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${part})
endfunction()

# g++ looks for memory to give back at every few megabytes: with a gigabyte to fill first, files with many templates take a
# sixth less time.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=1000000>)
endif()
