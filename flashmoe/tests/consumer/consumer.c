/* SPDX-License-Identifier: MIT
 * The smallest C program that uses an installed flashmoe: the version, and an error that explains itself. */
#include <flashmoe/flashmoe.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  flashmoe_forward_args args;
  size_t bytes = 0;
  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  printf("flashmoe %s\n", flashmoe_version());
  if (flashmoe_forward_workspace_bytes(&args, &bytes) != FLASHMOE_INVALID_ARGUMENT) return 1;
  printf("%s\n", flashmoe_last_error());
  return strstr(flashmoe_last_error(), "q has head_dim = 0") == NULL ? 2 : 0;
}
