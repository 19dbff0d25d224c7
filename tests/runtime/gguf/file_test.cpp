#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <limits>
#include <string>
#include <vector>

#include "runtime/gguf/gguf.hpp"
#include "tests/support/gguf_writer.hpp"

namespace troupe::gguf {
namespace {

using test::gguf_kind;
using test::gguf_writer;
using test::raw;
using test::raw_string;
using test::temporary_file;

result<file> open_bytes(const std::string& bytes) {
  const temporary_file on_disk(bytes);
  auto opened = file::open(on_disk.path());
  if (!opened) {
    EXPECT_EQ(opened.error().message.find(on_disk.path()), 0U) << opened.error().message;
    EXPECT_EQ(opened.error().message.find('\n'), std::string::npos) << opened.error().message;
    EXPECT_FALSE(opened.error().param.empty()) << opened.error().message;
  }
  return opened;
}

// The file is refused, and the message says why.
void expect_refused(const gguf_writer& writer, const std::string& why,
                    error_code code = error_code::corrupt_file) {
  const auto opened = open_bytes(writer.bytes());
  ASSERT_FALSE(opened) << why;
  EXPECT_NE(opened.error().message.find(why), std::string::npos) << opened.error().message;
  EXPECT_EQ(opened.error().code, code) << opened.error().message;
}

std::string raw_array_header(gguf_kind kind, std::uint64_t count) {
  return raw(static_cast<std::uint32_t>(kind)) + raw(count);
}
constexpr auto array_kind = static_cast<std::uint32_t>(gguf_kind::array);

TEST(gguf_file, reads_every_kind_of_value_in_both_versions) {
  for (const std::uint32_t version : {2U, 3U}) {
    gguf_writer writer(version);
    writer.add("u8", std::uint8_t{200}).add("i8", std::int8_t{-100}).add("u16", std::uint16_t{60'000});
    writer.add("i16", std::int16_t{-30'000}).add("u32", 4'000'000'000U).add("i32", -2'000'000'000);
    writer.add("u64", ~std::uint64_t{0}).add("i64", std::numeric_limits<std::int64_t>::min());
    writer.add("f32", 0.5F).add("f64", 0.1).add("yes", true).add("no", false).add("text", "hello");
    writer.add("texts", std::vector<std::string>{"a", "", "c"})
        .add("numbers", std::vector<std::int32_t>{-1, 2});
    writer.add("floats", std::vector<float>{1.5F});
    writer.add_raw("flags", array_kind, raw_array_header(gguf_kind::boolean, 2) + std::string("\1\0", 2));
    const auto opened = open_bytes(writer.bytes());
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(opened->version(), version);
    EXPECT_EQ(opened->metadata().size(), 17U);
    EXPECT_EQ(opened->get_int("u8"), 200);
    EXPECT_EQ(opened->get_int("i8"), -100);
    EXPECT_EQ(opened->get_int("u16"), 60'000);
    EXPECT_EQ(opened->get_int("i16"), -30'000);
    EXPECT_EQ(opened->get_int("u32"), 4'000'000'000);
    EXPECT_EQ(opened->get_int("i32"), -2'000'000'000);
    EXPECT_EQ(opened->get_int("i64"), std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(std::get<std::uint64_t>(*opened->find("u64")), ~std::uint64_t{0});
    EXPECT_EQ(opened->get_float("f32"), 0.5);
    EXPECT_EQ(opened->get_float("f64"), 0.1);
    EXPECT_EQ(opened->get_float("u8"), 200.0);
    EXPECT_EQ(opened->get_bool("yes"), true);
    EXPECT_EQ(opened->get_bool("no"), false);
    EXPECT_EQ(opened->get_string("text"), "hello");
    EXPECT_EQ(std::get<std::vector<std::string_view>>(std::get<array>(*opened->find("texts"))).at(2), "c");
    EXPECT_EQ(std::get<std::vector<std::int64_t>>(std::get<array>(*opened->find("numbers"))).at(0), -1);
    EXPECT_EQ(std::get<std::vector<double>>(std::get<array>(*opened->find("floats"))).at(0), 1.5);
    EXPECT_EQ(std::get<std::vector<std::int64_t>>(std::get<array>(*opened->find("flags"))).at(0), 1);
  }
}

TEST(gguf_file, converts_numbers_only_where_nothing_is_lost) {
  gguf_writer writer;
  writer.add("huge", ~std::uint64_t{0}).add("exact", std::uint64_t{1} << 53U);
  writer.add("inexact", (std::int64_t{1} << 53U) + 1).add("float", 1.0F).add("flag", true).add("text", "1");
  const auto opened = open_bytes(writer.bytes());
  ASSERT_TRUE(opened);
  for (const char* key : {"huge", "float", "flag", "text"}) {
    ASSERT_FALSE(opened->get_int(key)) << key;
    EXPECT_EQ(opened->get_int(key).error().code, error_code::corrupt_file);
    EXPECT_EQ(opened->get_int_or(key, 3).error().param, key);
  }
  for (const char* key : {"huge", "inexact", "flag", "text"}) EXPECT_FALSE(opened->get_float(key)) << key;
  EXPECT_EQ(opened->get_float("exact"), 0x1p53);
  EXPECT_FALSE(opened->get_bool("exact"));
  EXPECT_FALSE(opened->get_string("flag"));
}

TEST(gguf_file, tells_an_absent_key_from_a_wrong_one) {
  const auto opened = open_bytes(gguf_writer().add("there", 1U).bytes());
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->get_int("gone").error().code, error_code::not_found);
  EXPECT_EQ(opened->get_int_or("gone", 7), 7);
  EXPECT_EQ(opened->get_float_or("gone", 0.5), 0.5);
  EXPECT_EQ(opened->get_bool_or("gone", true), true);
  EXPECT_EQ(opened->find("gone"), nullptr);
  EXPECT_EQ(opened->find_tensor("gone"), nullptr);
}

TEST(gguf_file, points_every_tensor_at_its_own_bytes) {
  for (const std::uint32_t alignment : {8U, 32U, 4096U}) {
    gguf_writer writer;
    writer.align(alignment);
    writer.add_tensor("first", {3}, tensor_type::f32, "aaaabbbbcccc");
    writer.add_tensor("second", {32, 2}, tensor_type::q8_0, std::string(68, 'q'));
    writer.add_tensor("third", {1, 1, 2, 1}, tensor_type::f16, "xxyy");
    const auto opened = open_bytes(writer.bytes());
    ASSERT_TRUE(opened) << opened.error().message;
    ASSERT_EQ(opened->tensors().size(), 3U);
    const tensor* second = opened->find_tensor("second");
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(second->data.size(), 68U);
    EXPECT_EQ(second->data[0], std::byte{'q'});
    EXPECT_EQ(second->data[67], std::byte{'q'});
    EXPECT_EQ(second->elements(), 64U);
    EXPECT_EQ(second->dimensions, 2U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second->data.data()) % std::min(alignment, 4096U), 0U);
    EXPECT_EQ(opened->find_tensor("third")->data[3], std::byte{'y'});
    EXPECT_EQ(opened->find_tensor("third")->dimensions, 4U);
  }
}

TEST(gguf_file, keeps_its_views_while_a_copy_of_it_lives) {
  file copy;
  {
    auto opened = open_bytes(gguf_writer().add("key", "a text that no small buffer holds").bytes());
    ASSERT_TRUE(opened);
    copy = *opened;
  }
  EXPECT_EQ(copy.get_string("key"), "a text that no small buffer holds");
}

TEST(gguf_file, lists_types_that_are_not_served) {
  const auto opened = open_bytes(
      gguf_writer().add_tensor("w", {256}, static_cast<tensor_type>(10), std::string(84, 'x')).bytes());
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_STREQ(to_string(opened->tensors()[0].type), "Q2_K");
  EXPECT_FALSE(is_served(opened->tensors()[0].type));
}

TEST(gguf_file, refuses_what_is_no_regular_file) {
  EXPECT_EQ(file::open("/nonexistent/model.gguf").error().code, error_code::not_found);
  EXPECT_EQ(file::open("/").error().code, error_code::io_error);
  EXPECT_EQ(file::open("/dev/zero").error().code, error_code::io_error);
  const temporary_file place("");
  const std::string pipe = place.path() + ".pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(file::open(pipe).error().code, error_code::io_error);
  ::unlink(pipe.c_str());
}

TEST(gguf_file, refuses_what_is_not_this_format) {
  EXPECT_EQ(open_bytes("").error().code, error_code::corrupt_file);
  EXPECT_NE(open_bytes("").error().message.find("magic number"), std::string::npos);
  EXPECT_NE(open_bytes("PK\3\4 something else").error().message.find("not a GGUF file"), std::string::npos);
  expect_refused(gguf_writer(1), "version: 1", error_code::unsupported);
  expect_refused(gguf_writer(4), "version: 4", error_code::unsupported);
  expect_refused(gguf_writer(0x03000000), "big-endian", error_code::unsupported);
}

TEST(gguf_file, refuses_counts_that_the_file_cannot_hold) {
  expect_refused(gguf_writer().claim_keys(~std::uint64_t{0}), "metadata count");
  expect_refused(gguf_writer().claim_tensors(~std::uint64_t{0}), "tensor count");
  expect_refused(gguf_writer().claim_keys(65'536), "name of metadata entry 0");
  expect_refused(gguf_writer().claim_tensors(65'536), "name of tensor 0");
}

TEST(gguf_file, refuses_lengths_beyond_the_file_before_it_allocates) {
  const auto string_kind = static_cast<std::uint32_t>(gguf_kind::string);
  for (const auto length : {std::uint64_t{1} << 20U, std::uint64_t{1} << 62U, ~std::uint64_t{0}}) {
    expect_refused(gguf_writer().add_raw("text", string_kind, raw(length)), "metadata 'text'");
    for (const auto kind :
         {gguf_kind::u8, gguf_kind::f64, gguf_kind::string, gguf_kind::boolean, gguf_kind::u64}) {
      expect_refused(gguf_writer().add_raw("list", array_kind, raw_array_header(kind, length)),
                     "metadata 'list'");
    }
  }
  // A length whose product with the element size wraps to a small number.
  expect_refused(gguf_writer().add_raw("list", array_kind,
                                       raw_array_header(gguf_kind::u64, (std::uint64_t{1} << 61U) + 1)),
                 "metadata 'list'");
}

TEST(gguf_file, refuses_malformed_metadata) {
  expect_refused(gguf_writer().add("twice", 1U).add("twice", 2U), "metadata 'twice': appears twice");
  expect_refused(gguf_writer().add("", 1U), "name of metadata entry 0");
  expect_refused(gguf_writer().add(std::string(70'000, 'k'), 1U), "name of metadata entry 0");
  expect_refused(gguf_writer().add_raw("odd", 13, "abcdefgh"),
                 "metadata 'odd': no value kind has the number 13");
  expect_refused(gguf_writer().add_raw("odd", array_kind, raw(99U) + raw(std::uint64_t{0})),
                 "metadata 'odd'");
  expect_refused(gguf_writer().add_raw("flag", static_cast<std::uint32_t>(gguf_kind::boolean), "\2"),
                 "metadata 'flag': a boolean of value 2");
  expect_refused(gguf_writer().add_raw("flags", array_kind, raw_array_header(gguf_kind::boolean, 1) + "\xff"),
                 "metadata 'flags'");
  expect_refused(
      gguf_writer().add_raw("nest", array_kind,
                            raw_array_header(gguf_kind::array, 1) + raw_array_header(gguf_kind::u8, 0)),
      "metadata 'nest': an array of arrays", error_code::unsupported);
}

TEST(gguf_file, refuses_a_bad_alignment) {
  for (const std::uint32_t alignment : {0U, 1U, 4U, 12U, 1U << 21U}) {
    expect_refused(gguf_writer().add("general.alignment", alignment), "general.alignment");
  }
  expect_refused(gguf_writer().add("general.alignment", "32"), "general.alignment");
}

TEST(gguf_file, refuses_shapes_that_overflow_or_break_blocks) {
  const std::uint64_t half = std::uint64_t{1} << 32U;
  expect_refused(gguf_writer().add_tensor_entry("w", {half, half}, 0, 0), "tensor 'w': its shape overflows");
  expect_refused(gguf_writer().add_tensor_entry("w", {half, half / 4, 1, 1}, 0, 0),
                 "tensor 'w': its size overflows");
  expect_refused(gguf_writer().add_tensor_entry("w", {~std::uint64_t{0}}, 0, 0),
                 "tensor 'w': its size overflows");
  expect_refused(gguf_writer().add_tensor_entry("w", {1, 1, 1, 1, 1}, 0, 0), "tensor 'w': 5 dimensions");
  expect_refused(gguf_writer().add_tensor_entry("w", {4, 0}, 0, 0), "tensor 'w': dimension 1 is 0");
  expect_refused(gguf_writer().add_tensor_entry("w", {33, 32}, 2, 0), "tensor 'w': rows of 33 elements");
  expect_refused(gguf_writer().add_tensor_entry("w", {128, 2}, 12, 0), "tensor 'w': rows of 128 elements");
  for (const std::uint32_t type : {4U, 5U, 9U, 31U, 1000U, ~0U}) {
    expect_refused(gguf_writer().add_tensor_entry("w", {32}, type, 0), "tensor 'w': unknown tensor type",
                   error_code::unsupported);
  }
}

TEST(gguf_file, refuses_tensors_outside_the_file) {
  gguf_writer writer;
  writer.add_tensor("ok", {8}, tensor_type::f32, std::string(32, 'x'));
  for (const auto offset : {std::uint64_t{32}, std::uint64_t{1} << 40U, ~std::uint64_t{0} - 31}) {
    expect_refused(gguf_writer(writer).add_tensor_entry("w", {8}, 0, offset),
                   "tensor 'w': its 32 bytes at offset");
  }
  // Offset and bytes whose sum wraps to a small number.
  expect_refused(gguf_writer(writer).add_tensor_entry("w", {(std::uint64_t{1} << 62U) - 1}, 0, 32),
                 "tensor 'w': its 18446744073709551612 bytes at offset 32");
  expect_refused(gguf_writer(writer).add_tensor_entry("w", {8}, 0, 16),
                 "tensor 'w': its offset 16 is no multiple");
  expect_refused(gguf_writer(writer).add_tensor_entry("w", {8}, 0, 0), "its data overlap those of");
  std::string cut = writer.bytes();
  cut.pop_back();
  EXPECT_NE(open_bytes(cut).error().message.find("tensor 'ok'"), std::string::npos);
}

TEST(gguf_file, refuses_bad_tensor_names) {
  expect_refused(gguf_writer().add_tensor_entry("", {1}, 0, 0), "name of tensor 0");
  expect_refused(gguf_writer().add_tensor_entry(std::string(65, 'n'), {1}, 0, 0), "name of tensor 0");
  gguf_writer twice;
  twice.add_tensor("w", {1}, tensor_type::f32, "abcd").add_tensor("w", {1}, tensor_type::f32, "abcd");
  expect_refused(twice, "tensor 'w': appears twice");
}

TEST(gguf_file, shows_hostile_names_in_one_clean_line) {
  const auto opened = open_bytes(gguf_writer().add_tensor_entry("a\n\x1b[31m\xff", {0}, 0, 0).bytes());
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("tensor 'a\\n\\x1b[31m\\xff': dimension 0 is 0"), std::string::npos)
      << opened.error().message;
}

TEST(gguf_file, every_prefix_of_a_small_file_is_refused) {
  gguf_writer writer;
  writer.add("number", 1U).add("text", "hello").add("list", std::vector<std::string>{"a", "b"});
  writer.add_tensor("w", {8}, tensor_type::f32, std::string(32, 'x'));
  const std::string whole = writer.bytes();
  ASSERT_TRUE(open_bytes(whole));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(open_bytes(whole.substr(0, length))) << length;
  }
}

}  // namespace
}  // namespace troupe::gguf
