// SPDX-License-Identifier: MIT
#pragma once

namespace flashmoe::test {

// Counts words that differ from what is expected, and poisons them all for the next launch.
void count_differences(unsigned* words, const unsigned* expected, long long size, unsigned* differences,
                       void* stream);

}  // namespace flashmoe::test
