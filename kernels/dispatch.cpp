#include "kernels/dispatch.hpp"

#include <cpuid.h>

#include <array>
#include <cstring>

#include "kernels/cpu/avx2/avx2_kernels.hpp"
#include "kernels/cpu/avx512vnni/avx512vnni_kernels.hpp"
#include "kernels/reference/reference_kernels.hpp"

namespace troupe::kernels {
namespace {

bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}

bool has_avx512vnni() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
}

}  // namespace

std::vector<const kernel_table*> available_kernels() {
  std::vector<const kernel_table*> tables;
  if (has_avx512vnni()) tables.push_back(&avx512vnni_kernels);
  if (has_avx2()) tables.push_back(&avx2_kernels);
  tables.push_back(&reference_kernels);
  return tables;
}

const kernel_table* find_kernels(std::string_view name) {
  const auto tables = available_kernels();
  if (name == "auto") return tables.front();
  for (const kernel_table* table : tables) {
    if (name == table->name) return table;
  }
  return nullptr;
}

std::string cpu_model() {
  std::array<unsigned, 12> words{};
  if (__get_cpuid_max(0x80000000U, nullptr) < 0x80000004U) return {};
  for (unsigned leaf = 0; leaf < 3; ++leaf) {
    unsigned* out = &words[leaf * 4];
    __get_cpuid(0x80000002U + leaf, out, out + 1, out + 2, out + 3);
  }
  std::array<char, sizeof(words) + 1> text{};
  std::memcpy(text.data(), words.data(), sizeof(words));
  std::string name(text.data());
  while (!name.empty() && name.back() == ' ') name.pop_back();
  return name;
}

}  // namespace troupe::kernels
