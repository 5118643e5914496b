// SPDX-License-Identifier: MIT
// dent-worker: loads one kernel from a shared library and runs it on request. Started by dent; see
// dent/docs/dent.md.
#include "workers/native/host.h"

int main() {
  dent::NativeHost host;
  return dent::serve(host);
}
