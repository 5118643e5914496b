# SPDX-License-Identifier: MIT
if(FLASHMOE_SANITIZE)
  # -g1: a report needs line numbers, and no more. -O1: what is checked at every step has little left to optimise, and
  # compiles faster: highway.cpp takes 106 s instead of 175.
  add_compile_options(-fsanitize=${FLASHMOE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1
                      $<$<NOT:$<CONFIG:Debug>>:-O1>)
  add_link_options(-fsanitize=${FLASHMOE_SANITIZE})
endif()
