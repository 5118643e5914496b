// SPDX-License-Identifier: MIT
// Parses the declaration of a C or C++ function in the manifest's entry:
//
//   void softmax_forward(float* out, const float* inp, int N, int C)
//   __global__ void __launch_bounds__(256) sgemm<64, 64, 8>(int M, int N, int K, const float* A, ...)
#pragma once

#include <string>
#include <vector>

namespace dent {

struct Parameter {
  std::string type;
  std::string name;
};

struct Declaration {
  std::string text;       // without extern "C" and ;
  std::string type;       // "void", "__global__ void"
  std::string name;       // "softmax_forward", "detail::sgemm"
  std::string arguments;  // of a template: "<64, 64, 8>"
  std::vector<Parameter> parameters;
  bool c_linkage = false;  // declared extern "C"

  bool is_kernel() const { return type.find("__global__") != std::string::npos; }
  // Whether a caller must see its definition: true for instances of templates and members of namespaces or
  // classes.
  bool needs_definition() const { return !arguments.empty() || name.find(':') != std::string::npos; }
  std::string last_name() const;  // without namespaces
};

// True for a declaration, false for a plain name.
bool is_declaration(const std::string& entry);
// Throws Error that names the missing part.
Declaration parse_declaration(const std::string& entry);

// Whether a source defines that function as __global__, or as static.
bool is_kernel_in(const std::string& source, const std::string& name);
bool is_static_in(const std::string& source, const std::string& name);
// Whether a source contains that word.
bool mentions(const std::string& source, const std::string& name);

}  // namespace dent
