#include <array>

#include "runtime/gguf/gguf.hpp"

namespace troupe::gguf {
namespace {

struct type_traits {
  tensor_type type;
  const char* name;
  std::size_t elements;  // per block
  std::size_t bytes;     // per block
  bool served;
};

constexpr tensor_type number(std::uint32_t value) { return static_cast<tensor_type>(value); }

// ggml/include/ggml.h (enum ggml_type) and ggml/src/ggml-common.h (block structs).
constexpr std::array traits_table{
    type_traits{tensor_type::f32, "F32", 1, 4, true},
    type_traits{tensor_type::f16, "F16", 1, 2, true},
    type_traits{tensor_type::q4_0, "Q4_0", 32, 18, true},
    type_traits{tensor_type::q4_1, "Q4_1", 32, 20, true},
    type_traits{tensor_type::q5_0, "Q5_0", 32, 22, true},
    type_traits{tensor_type::q5_1, "Q5_1", 32, 24, true},
    type_traits{tensor_type::q8_0, "Q8_0", 32, 34, true},
    type_traits{number(10), "Q2_K", 256, 84, false},
    type_traits{number(11), "Q3_K", 256, 110, false},
    type_traits{tensor_type::q4_k, "Q4_K", 256, 144, true},
    type_traits{tensor_type::q5_k, "Q5_K", 256, 176, true},
    type_traits{tensor_type::q6_k, "Q6_K", 256, 210, true},
    type_traits{number(15), "Q8_K", 256, 292, false},
    type_traits{number(16), "IQ2_XXS", 256, 66, false},
    type_traits{number(17), "IQ2_XS", 256, 74, false},
    type_traits{number(18), "IQ3_XXS", 256, 98, false},
    type_traits{number(19), "IQ1_S", 256, 50, false},
    type_traits{number(20), "IQ4_NL", 32, 18, false},
    type_traits{number(21), "IQ3_S", 256, 110, false},
    type_traits{number(22), "IQ2_S", 256, 82, false},
    type_traits{number(23), "IQ4_XS", 256, 136, false},
    type_traits{number(24), "I8", 1, 1, false},
    type_traits{number(25), "I16", 1, 2, false},
    type_traits{number(26), "I32", 1, 4, false},
    type_traits{number(27), "I64", 1, 8, false},
    type_traits{number(28), "F64", 1, 8, false},
    type_traits{number(29), "IQ1_M", 256, 56, false},
    type_traits{tensor_type::bf16, "BF16", 1, 2, true},
    type_traits{number(34), "TQ1_0", 256, 54, false},
    type_traits{number(35), "TQ2_0", 256, 66, false},
    type_traits{number(39), "MXFP4", 32, 17, false},
    type_traits{number(40), "NVFP4", 64, 36, false},
    type_traits{number(41), "Q1_0", 128, 18, false},
};

constexpr type_traits unknown{number(~0U), "unknown", 0, 0, false};

const type_traits& traits_of(tensor_type type) {
  for (const auto& entry : traits_table) {
    if (entry.type == type) return entry;
  }
  return unknown;
}

}  // namespace

const char* to_string(tensor_type type) { return traits_of(type).name; }
std::size_t block_elements(tensor_type type) { return traits_of(type).elements; }
std::size_t block_bytes(tensor_type type) { return traits_of(type).bytes; }
bool is_served(tensor_type type) { return traits_of(type).served; }

}  // namespace troupe::gguf
