// SPDX-License-Identifier: MIT
// Manifests that would do harm: for every key that another author's may not use freely.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace dent::test {

inline const std::string kHead = "version = 1\nshapes = [{ name = \"tiny\", n = 32 }]\n";
inline const std::string kKernel = "[kernel]\nsources = [\"kernel.cpp\"]\nentry = \"scale\"\n";
inline const std::string kRest =
    "[baseline.plain]\nsources = [\"plain.cpp\"]\nentry = \"scale\"\n"
    "[operator]\nname = \"scale\"\ninputs.x = { shape = [\"n\"] }\noutputs.y = { shape = [\"n\"] }\n"
    "reference = { python = \"reference:scale\" }\n";

// The key, and a manifest that uses it to see, start or load what lies outside of the project.
inline std::vector<std::pair<std::string, std::string>> harmful_manifests() {
  const auto kernel = [](const std::string& line) { return kHead + kKernel + line + "\n" + kRest; };
  return {
      {"interpreter", "interpreter = \"/tmp/python\"\n" + kHead + kKernel + kRest},
      {"sandbox", "sandbox = \"off\"\n" + kHead + kKernel + kRest},
      {"visible", "visible = [\"/home\"]\n" + kHead + kKernel + kRest},
      {"visible", "visible = [\"../..\"]\n" + kHead + kKernel + kRest},
      {"kernel.sources", kHead + "[kernel]\nsources = [\"../../secret.cpp\"]\nentry = \"scale\"\n" + kRest},
      {"kernel.sources", kHead + "[kernel]\nsources = [\"/etc/passwd\"]\nentry = \"scale\"\n" + kRest},
      {"kernel.library", kHead + "[kernel]\nlibrary = \"/usr/lib/libm.so\"\nentry = \"scale\"\n" + kRest},
      {"kernel.build", kernel("build = \"curl example.com\"")},
      {"kernel.link", kernel("link = [\"-Wl,-rpath,/tmp\"]")},
      {"kernel.include", kernel("include = [\"/home\"]")},
      {"kernel.flags", kernel("flags = [\"-I/home\"]")},
      {"kernel.flags", kernel("flags = [\"-DX=/home\"]")},
      {"kernel.flags", kernel("flags = [\"-include\", \"/etc/passwd\"]")},
      {"kernel.flags", kernel("flags = [\"-fplugin=x.so\"]")},
      {"kernel.flags", kernel("flags = [\"-Wl,-rpath,x\"]")},
      {"kernel.flags", kernel("flags = [\"-specs=x\"]")},
      {"kernel.flags", kernel("flags = [\"@file\"]")},
      {"kernel.flags", kernel("flags = [\"-DHOME=${HOME}\"]")},
      {"baseline.plain.build",
       kHead + kKernel + "[baseline.plain]\nbuild = \"id\"\nlibrary = \"x.so\"\nentry = \"s\"\n"},
      {"variants.build", kHead + kKernel + kRest + "[[variants]]\nname = \"v\"\nbuild = \"id\"\n"},
      {"operator.reference.library",
       kHead + kKernel + "[operator]\nreference = { library = \"/tmp/x.so\", entry = \"s\" }\n"},
      {"operator.reference.source",
       kHead + kKernel + "[operator]\nreference = { source = \"../../x.cpp\", entry = \"s\" }\n"},
      {"optimize.command", kHead + kKernel + kRest + "[optimize]\ncommand = \"id\"\n"},
      {"optimize.command_seconds", kHead + kKernel + kRest + "[optimize]\ncommand_seconds = 1\n"},
      {"optimize.command_sandbox", kHead + kKernel + kRest + "[optimize]\ncommand_sandbox = \"off\"\n"},
      {"optimize.command_network", kHead + kKernel + kRest + "[optimize]\ncommand_network = true\n"},
      {"optimize.command_paths", kHead + kKernel + kRest + "[optimize]\ncommand_paths = [\"/home\"]\n"},
      {"optimize.command_env", kHead + kKernel + kRest + "[optimize]\ncommand_env = [\"TOKEN\"]\n"},
      {"optimize.files", kHead + kKernel + kRest + "[optimize]\nfiles = [\"/etc/passwd\"]\n"},
      {"optimize.protect", kHead + kKernel + kRest + "[optimize]\nprotect = [\"../../x\"]\n"},
      {"executor.box.kind",
       kHead + kKernel + kRest + "[executor.box]\nkind = \"command\"\nstart = \"id {command}\"\n"},
      {"name", "name = \"${HOME}\"\n" + kHead + kKernel + kRest},
      {"surprise", "surprise = 1\n" + kHead + kKernel + kRest},
  };
}

}  // namespace dent::test
