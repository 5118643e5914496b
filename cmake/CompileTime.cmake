# SPDX-License-Identifier: MIT
# What makes a whole build quick. Headers take longer to compile than most of our files, and their templates are compiled
# again with each of them: so files of one target are compiled together. (Precompiled headers gain nothing beside that: with
# so few compilations left, what they save is what they cost.)

# A file that has options of its own stays alone.
set(CMAKE_UNITY_BUILD ${FLASHMOE_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)

# g++ looks for memory to give back at every few megabytes: with half a gigabyte to fill first, files with many templates
# take a seventh less time.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=500000>)
endif()
