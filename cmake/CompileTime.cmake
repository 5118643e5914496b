# SPDX-License-Identifier: MIT
# The workbench is compiled in groups of files. flashmoe_compile_together(TARGET PART sources...): of a target whose
# UNITY_BUILD_MODE is GROUP.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)
function(flashmoe_compile_together target part)
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${part})
endfunction()
