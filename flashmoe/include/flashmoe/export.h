// SPDX-License-Identifier: MIT
// FLASHMOE_API marks what the shared library exports; everything else in it is hidden.
#pragma once

#define FLASHMOE_API __attribute__((visibility("default")))
