# SPDX-License-Identifier: MIT
# flashmoe_warnings: what our own code is held to. Dependencies are SYSTEM includes and stay silent.
add_library(flashmoe_warnings INTERFACE)
# -Wrestrict: g++ 12 reports std::string concatenation falsely (GCC bug 105651).
target_compile_options(flashmoe_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wcast-align>
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Wno-psabi -Wno-restrict>
  $<$<AND:$<COMPILE_LANGUAGE:C,CXX>,$<BOOL:${FLASHMOE_WERROR}>>:-Werror>)
