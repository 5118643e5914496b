# SPDX-License-Identifier: MIT
# Target all_verify_interface_header_sets: every header compiles alone.
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)

# flashmoe_not_proved_alone(LIST): leaves out the headers that are the first include of their own source, which proves it.
function(flashmoe_not_proved_alone list)
  set(left "")
  foreach(header IN LISTS ${list})
    cmake_path(REPLACE_EXTENSION header LAST_ONLY cpp OUTPUT_VARIABLE source)
    set(first "")
    if(EXISTS ${source})
      file(STRINGS ${source} first REGEX "^#include" LIMIT_COUNT 1)
    endif()
    cmake_path(GET header FILENAME name)
    if(NOT first MATCHES "^#include \"(.*/)?${name}\"$")
      list(APPEND left ${header})
    endif()
  endforeach()
  set(${list} ${left} PARENT_SCOPE)
endfunction()
