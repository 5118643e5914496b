# SPDX-License-Identifier: MIT
# How test programs become tests. A program runs in a few shards: one process for many tests, so that what they share (an oracle's
# results, a started server) is computed once. With FLASHMOE_DISCOVER_TESTS every TEST is a ctest test of its own, to run one by name.
#
# Labels: `clock` for programs that measure time (one of them at a time), `process` for those that start dent or other programs,
# `remote` for those that need sshd or Slurm, `model`, `mutants`, `cuda` for what the CUDA compiler says, `gpu`, and `nightly`. The tests of one
# product: ctest --test-dir build/release/flashmoe, or .../dent.
find_package(GTest REQUIRED)
include(GoogleTest)
option(FLASHMOE_DISCOVER_TESTS "Every TEST is a ctest test of its own" OFF)
set(FLASHMOE_REPORTS ${PROJECT_BINARY_DIR}/reports CACHE PATH "Where test programs leave their results (JUnit)")

# flashmoe_discover(PROGRAM [SHARDS n] [TIMEOUT seconds] [LABELS labels...])
function(flashmoe_discover program)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SHARDS;TIMEOUT" "LABELS")
  if(NOT arg_SHARDS)
    set(arg_SHARDS 2)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 1200)
  endif()
  if(FLASHMOE_DISCOVER_TESTS)
    gtest_discover_tests(${program} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}")
    return()
  endif()
  math(EXPR last "${arg_SHARDS} - 1")
  foreach(shard RANGE ${last})
    set(name ${program}.${shard})
    add_test(NAME ${name} COMMAND ${program} --gtest_brief=1)
    set_property(TEST ${name} PROPERTY TIMEOUT ${arg_TIMEOUT})
    set_property(TEST ${name} PROPERTY LABELS ${arg_LABELS})
    set_property(TEST ${name} PROPERTY ENVIRONMENT GTEST_TOTAL_SHARDS=${arg_SHARDS} GTEST_SHARD_INDEX=${shard}
                                                   GTEST_OUTPUT=xml:${FLASHMOE_REPORTS}/${name}.xml)
    if("clock" IN_LIST arg_LABELS)
      set_property(TEST ${name} PROPERTY RESOURCE_LOCK clock)
    endif()
  endforeach()
endfunction()

# Tests run for moments, and take a sixth to a third less time to compile so. The last -O counts.
set(FLASHMOE_TEST_OPTIONS $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:-O1>)

# flashmoe_test(NAME sources... [SHARDS n] [LABELS label...]): one test program of the library.
function(flashmoe_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SHARDS" "LABELS")
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE ${FLASHMOE_TEST_OPTIONS})
  target_link_libraries(${name} PRIVATE flashmoe_test_support flashmoe_warnings)
  flashmoe_unity(${name})
  flashmoe_discover(${name} SHARDS ${arg_SHARDS} LABELS ${arg_LABELS})
endfunction()
