# SPDX-License-Identifier: MIT
# Most of what a source of dent or of a test compiles is headers: several sources in one translation unit share them, and take
# less than half of the time. Each header is still proved to stand alone (HeadersAlone.cmake), and the preset `alone` builds every
# source by itself. Not the library's own sources, which clang-tidy reads one by one.
option(FLASHMOE_UNITY "Compile several sources of dent and of the tests at once" ON)

# flashmoe_unity(TARGET [BATCH n])
function(flashmoe_unity target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "BATCH" "")
  if(NOT arg_BATCH)
    set(arg_BATCH 6)
  endif()
  if(FLASHMOE_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${arg_BATCH})
    # A unit includes its sources by absolute paths, which would be what __FILE__ says: another clone would find nothing in ccache.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>)
  endif()
endfunction()
