// Against tests/data/dequantized.json, which make_dequantized.py made with the `gguf` Python package.
#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/gguf/gguf.hpp"
#include "tests/support/paths.hpp"

namespace troupe::gguf {
namespace {

constexpr tensor_type all_types[] = {tensor_type::f32,  tensor_type::f16,  tensor_type::bf16,
                                     tensor_type::q4_0, tensor_type::q4_1, tensor_type::q5_0,
                                     tensor_type::q5_1, tensor_type::q8_0, tensor_type::q4_k,
                                     tensor_type::q5_k, tensor_type::q6_k};

std::vector<std::uint32_t> from_hex(const std::string& text, std::size_t digits) {
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i + digits <= text.size(); i += digits) {
    std::uint32_t number = 0;
    std::from_chars(text.data() + i, text.data() + i + digits, number, 16);
    out.push_back(number);
  }
  return out;
}

struct golden_case {
  std::vector<std::byte> source;
  std::vector<std::uint32_t> values;  // bits
};

std::map<std::string, golden_case> golden_cases() {
  std::ifstream in(test::source_path("tests/data/dequantized.json"));
  std::map<std::string, golden_case> out;
  for (const auto& each : nlohmann::json::parse(in)) {
    auto& target = out[each.at("type").get<std::string>()];
    for (const auto byte : from_hex(each.at("source").get<std::string>(), 2)) {
      target.source.push_back(static_cast<std::byte>(byte));
    }
    target.values = from_hex(each.at("values").get<std::string>(), 8);
  }
  return out;
}

TEST(dequantize, gives_the_bits_of_the_python_package_for_every_type) {
  const auto cases = golden_cases();
  for (const auto type : all_types) {
    ASSERT_TRUE(cases.contains(to_string(type))) << to_string(type);
    const auto& golden = cases.at(to_string(type));
    ASSERT_EQ(golden.source.size() / block_bytes(type) * block_elements(type), golden.values.size());
    std::vector<float> out(golden.values.size());
    dequantize(type, golden.source.data(), out.size(), out.data());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto bits = std::isnan(out[i]) ? 0x7FC00000U : std::bit_cast<std::uint32_t>(out[i]);
      ASSERT_EQ(bits, golden.values[i]) << to_string(type) << " element " << i << ": " << out[i];
    }
  }
}

TEST(dequantize, refuses_a_type_that_is_not_served) {
  std::vector<std::byte> block(84);
  std::vector<float> out(256);
  EXPECT_THROW(dequantize(static_cast<tensor_type>(10), block.data(), 256, out.data()),
               std::invalid_argument);
}

}  // namespace
}  // namespace troupe::gguf
