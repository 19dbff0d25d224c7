#include "runtime/model/describe.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/gguf_writer.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

using test::gguf_writer;
using test::temporary_file;

std::string described(const std::string& bytes) {
  const temporary_file on_disk(bytes);
  const auto file = gguf::file::open(on_disk.path());
  EXPECT_TRUE(file) << file.error().message;
  return file ? describe(*file) : "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(describe, names_every_key_and_every_tensor) {
  const temporary_file on_disk(test::tiny_model({.kind = test::tiny_kind::qwen2}));
  const auto file = gguf::file::open(on_disk.path());
  ASSERT_TRUE(file);
  const auto text = describe(*file);
  for (const auto& entry : file->metadata())
    EXPECT_TRUE(contains(text, std::string(entry.first))) << entry.first;
  for (const auto& tensor : file->tensors())
    EXPECT_TRUE(contains(text, std::string(tensor.name))) << tensor.name;
  EXPECT_TRUE(contains(text, "64 x 299"));
}

TEST(describe, counts_parameters_and_bytes) {
  const auto text = described(gguf_writer()
                                  .add_tensor("a", {32, 2}, gguf::tensor_type::q8_0, std::string(68, 'x'))
                                  .add_tensor("b", {3}, gguf::tensor_type::f32, std::string(12, 'x'))
                                  .bytes());
  EXPECT_TRUE(contains(text, "2 tensors, 67 parameters, 80 bytes of tensor data")) << text;
}

TEST(describe, works_for_an_unserved_architecture_and_type) {
  const auto text =
      described(gguf_writer()
                    .add("general.architecture", "mamba")
                    .add_tensor("w", {256}, static_cast<gguf::tensor_type>(10), std::string(84, 'x'))
                    .bytes());
  EXPECT_TRUE(contains(text, "mamba"));
  EXPECT_TRUE(contains(text, "Q2_K")) << text;
  EXPECT_TRUE(contains(text, "not served")) << text;
}

TEST(describe, abbreviates_long_values) {
  const auto text = described(gguf_writer()
                                  .add("long", std::string(100'000, 'y'))
                                  .add("many", std::vector<std::int32_t>(100'000, 7))
                                  .bytes());
  EXPECT_LT(text.size(), 1000U);
  EXPECT_TRUE(contains(text, "int[100000]  7, 7")) << text;
}

TEST(describe, shows_no_control_characters_of_the_file) {
  const auto text = described(gguf_writer()
                                  .add("evil\x1b[2Jkey\n", "\x1b]0;title\x07\xff\xe2\x80\xae text")
                                  .add_tensor("t\r\n", {1}, gguf::tensor_type::f32, "abcd")
                                  .bytes());
  for (const char letter : text) EXPECT_TRUE(letter == '\n' || static_cast<unsigned char>(letter) >= 0x20);
  EXPECT_TRUE(contains(text, "\\x1b[2Jkey\\n")) << text;
  EXPECT_FALSE(contains(text, "\xe2\x80\xae"));
}

TEST(describe, works_for_an_empty_file_of_the_format) {
  EXPECT_TRUE(contains(described(gguf_writer().bytes()), "0 tensors"));
}

}  // namespace
}  // namespace troupe
