# SPDX-License-Identifier: MIT
# Compiles through ccache where it is installed. A launcher that the caller names stays.
option(FLASHMOE_CCACHE "Compile through ccache where it is installed" ON)
find_program(FLASHMOE_CCACHE_PROGRAM ccache)
mark_as_advanced(FLASHMOE_CCACHE_PROGRAM)
if(FLASHMOE_CCACHE AND FLASHMOE_CCACHE_PROGRAM)
  # The size holds all build trees of `make verify`. Paths count from this tree's root, so that clones and worktrees find what another has compiled.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_MAXSIZE=20G ${FLASHMOE_CCACHE_PROGRAM})
  foreach(language C CXX CUDA)
    if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER ${launcher})
    endif()
  endforeach()
endif()
