// SPDX-License-Identifier: MIT
#include "build/object_resources.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>

#include "base/error.h"
#include "base/text.h"
#include "build/toolchain.h"
#include "system/capture.h"

namespace dent {
namespace {

constexpr std::uint16_t kCudaMachine = 190;  // EM_CUDA

// Reads an ELF file with bounds checks.
class Elf {
 public:
  explicit Elf(const std::string& bytes) : bytes_(bytes) {
    if (!is_cubin(bytes))
      throw Error(ErrorCode::invalid, "the file is not a cubin: it has no ELF header for a GPU");
  }
  static bool is_cubin(const std::string& bytes) {
    std::uint16_t machine = 0;
    if (bytes.size() < 64 || bytes.compare(0, 5, "\177ELF\2") != 0) return false;
    std::memcpy(&machine, bytes.data() + 18, sizeof machine);
    return machine == kCudaMachine;
  }

  template <class T>
  T at(std::uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) {
      throw Error(ErrorCode::invalid, "the cubin is truncated", "build it again");
    }
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::string text_at(std::uint64_t offset) const {
    std::string text;
    for (char c = at<char>(offset); c != '\0'; c = at<char>(++offset)) text += c;
    return text;
  }
  // The flags hold the architecture, one byte higher since about CUDA 12.9 (ABI version 8).
  std::string arch() const {
    const auto flags = at<std::uint32_t>(48);
    const bool recent = at<std::uint8_t>(8) >= 8;
    return "sm_" + std::to_string((recent ? flags >> 8 : flags) & 0xFF);
  }

 private:
  const std::string& bytes_;
};

struct Section {
  std::string name;
  std::uint64_t offset, size;
  std::uint32_t info, link;
};

std::vector<Section> sections_of(const Elf& elf) {
  const auto table = elf.at<std::uint64_t>(40);
  const auto entry = elf.at<std::uint16_t>(58), count = elf.at<std::uint16_t>(60),
             names = elf.at<std::uint16_t>(62);
  const auto names_at = elf.at<std::uint64_t>(table + std::uint64_t{entry} * names + 24);
  std::vector<Section> sections;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = table + entry * i;
    sections.push_back({elf.text_at(names_at + elf.at<std::uint32_t>(at)), elf.at<std::uint64_t>(at + 24),
                        elf.at<std::uint64_t>(at + 32), elf.at<std::uint32_t>(at + 44),
                        elf.at<std::uint32_t>(at + 40)});
  }
  return sections;
}

struct Attributes {
  std::map<std::string, int> stack_bytes, registers;  // per thread, by symbol
};

// `.nv.info` is a list of attributes: format, kind, and 16 bits that hold the value or, in one format, the
// size of the payload, which here is a symbol index and a number.
Attributes attributes_of(const Elf& elf, const std::vector<Section>& sections) {
  constexpr std::uint8_t kSized = 4, kFrameSize = 0x11, kRegisters = 0x2F;
  constexpr std::uint64_t kSymbolBytes = 24;
  const auto named = [&](const char* name) {
    return std::find_if(sections.begin(), sections.end(), [&](const Section& s) { return s.name == name; });
  };
  const auto info = named(".nv.info"), symbols = named(".symtab");
  Attributes found;
  if (info == sections.end() || symbols == sections.end() || symbols->link >= sections.size()) return found;
  const std::uint64_t names = sections[symbols->link].offset;
  for (std::uint64_t at = info->offset; at + 4 <= info->offset + info->size;) {
    const auto kind = elf.at<std::uint8_t>(at + 1);
    const auto size = elf.at<std::uint16_t>(at + 2);
    const bool sized = elf.at<std::uint8_t>(at) == kSized;
    if (sized && size == 8 && (kind == kFrameSize || kind == kRegisters)) {
      const std::uint64_t symbol = symbols->offset + kSymbolBytes * elf.at<std::uint32_t>(at + 4);
      auto& values = kind == kFrameSize ? found.stack_bytes : found.registers;
      values[elf.text_at(names + elf.at<std::uint32_t>(symbol))] =
          static_cast<int>(elf.at<std::uint32_t>(at + 8));
    }
    at += 4 + (sized ? size : 0);
  }
  return found;
}

int number_after(const std::string& line, const char* key) {
  const std::size_t at = line.find(key);
  return at == std::string::npos ? 0 : std::atoi(line.c_str() + at + std::strlen(key));
}

// Next to nvcc, or in PATH.
std::string cuobjdump() {
  const std::string nvcc = nvcc_compiler();
  const std::string beside = nvcc.empty() ? "" : nvcc.substr(0, nvcc.rfind('/')) + "/cuobjdump";
  return !beside.empty() && access(beside.c_str(), X_OK) == 0 ? beside : "cuobjdump";
}

int arch_number(const std::string& arch) {
  int number = 0;
  if (arch.size() > 3) std::from_chars(arch.data() + 3, arch.data() + arch.size(), number);
  return number;
}

// Machine code runs on its own architecture and on later ones of the same generation; with suffix "a" only on
// its own.
bool runs_on(const std::string& code, int arch) {
  const int number = arch_number(code);
  if (!code.empty() && code.back() == 'a') return number == arch;
  return number / 10 == arch / 10 && number <= arch;
}

}  // namespace

std::vector<KernelResources> cubin_resources(const std::string& bytes) {
  const Elf elf(bytes);
  const auto sections = sections_of(elf);
  const Attributes attributes = attributes_of(elf, sections);
  std::vector<KernelResources> kernels;
  for (const Section& section : sections) {
    if (!section.name.starts_with(".text.")) continue;
    const std::string symbol = section.name.substr(6);
    KernelResources kernel;
    kernel.name = demangled(symbol);
    kernel.arch = elf.arch();
    const auto of = [&symbol](const std::map<std::string, int>& values, int otherwise) {
      const auto found = values.find(symbol);
      return found == values.end() ? otherwise : found->second;
    };
    kernel.registers = of(attributes.registers, static_cast<int>(section.info >> 24));  // older versions
    kernel.stack_bytes = of(attributes.stack_bytes, 0);
    for (const Section& other : sections) {
      if (other.name == ".nv.shared." + symbol) kernel.static_smem_bytes = static_cast<int>(other.size);
    }
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

std::vector<KernelResources> parse_resource_usage(const std::string& output) {
  std::vector<KernelResources> kernels;
  std::istringstream lines(output);
  std::string arch, name;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("arch = ")) {
      arch = line.substr(7);
    } else if (line.starts_with(" Function ")) {
      name = demangled(line.substr(10, line.rfind(':') - 10));
    } else if (line.find("REG:") != std::string::npos && !name.empty()) {
      kernels.push_back({name, arch, number_after(line, "REG:"), number_after(line, "SHARED:"),
                         number_after(line, "STACK:"), 0});
      name.clear();
    }
  }
  return kernels;
}

std::vector<KernelResources> object_resources(const std::filesystem::path& file) {
  const auto content = read_text(file);
  if (!content)
    throw Error(ErrorCode::invalid, file.string() + " can't be read", "check its path and permissions");
  const std::string& bytes = *content;
  std::vector<KernelResources> kernels;
  if (Elf::is_cubin(bytes)) {
    kernels = cubin_resources(bytes);
  } else {
    const auto output = capture({cuobjdump(), "--dump-resource-usage", file.string()}, 20);
    if (!output) {
      throw Error(ErrorCode::environment, "cuobjdump can't read " + file.string() + " or is not installed",
                  "install cuobjdump (it is part of the CUDA toolkit), pass a .cubin, or pass --regs, --smem "
                  "and --threads");
    }
    kernels = parse_resource_usage(*output);
  }
  if (kernels.empty()) {
    throw Error(ErrorCode::invalid, file.string() + " has no kernels with machine code",
                "compile for an architecture, not only to PTX: nvcc -arch=sm_89");
  }
  return kernels;
}

KernelResources choose_kernel(const std::vector<KernelResources>& kernels, const std::string& part,
                              int arch) {
  const KernelResources* best = nullptr;
  bool several = false;
  std::string names;
  for (const KernelResources& kernel : kernels) {
    if (kernel.name.find(part) == std::string::npos) continue;
    names += "\n    " + kernel.arch + " " + kernel.name;
    if (!runs_on(kernel.arch, arch)) continue;
    several = several || (best != nullptr && best->name != kernel.name);
    if (best == nullptr || arch_number(kernel.arch) > arch_number(best->arch)) best = &kernel;
  }
  if (best == nullptr || several) {
    throw Error(ErrorCode::invalid,
                std::string(best == nullptr ? "no kernel" : "more than one kernel") +
                    " of that name for sm_" + std::to_string(arch) +
                    (names.empty() ? "" : "; there are" + names),
                "pass a part of the name that only one of them has: --kernel PART");
  }
  return *best;
}

}  // namespace dent
