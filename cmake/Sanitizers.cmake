# SPDX-License-Identifier: MIT
if(FLASHMOE_SANITIZE)
  add_compile_options(-fsanitize=${FLASHMOE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${FLASHMOE_SANITIZE})
endif()
