# SPDX-License-Identifier: MIT
if(FLASHMOE_SANITIZE)
  # -g1: a report needs line numbers, and no more.
  add_compile_options(-fsanitize=${FLASHMOE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${FLASHMOE_SANITIZE})
endif()
