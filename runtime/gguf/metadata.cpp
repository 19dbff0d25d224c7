#include "runtime/gguf/metadata.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/gguf/printable.hpp"

namespace troupe::gguf {
namespace {

enum class value_kind : std::uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12,
};

// One element of a file's kind T as the kind that value and array hold.
template <class T>
auto widen(T number) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<double>(number);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<std::int64_t>(number);
  } else {
    return static_cast<std::uint64_t>(number);
  }
}

class value_reader {
 public:
  value_reader(byte_reader& source, std::uint64_t& elements_left)
      : source_(source), elements_left_(elements_left) {}

  result<value> read(std::string_view field) {
    const auto kind = source_.number<std::uint32_t>(field);
    if (!kind) return tl::unexpected(kind.error());
    switch (static_cast<value_kind>(*kind)) {
      case value_kind::u8:
        return scalar<std::uint8_t>(field);
      case value_kind::i8:
        return scalar<std::int8_t>(field);
      case value_kind::u16:
        return scalar<std::uint16_t>(field);
      case value_kind::i16:
        return scalar<std::int16_t>(field);
      case value_kind::u32:
        return scalar<std::uint32_t>(field);
      case value_kind::i32:
        return scalar<std::int32_t>(field);
      case value_kind::f32:
        return scalar<float>(field);
      case value_kind::u64:
        return scalar<std::uint64_t>(field);
      case value_kind::i64:
        return scalar<std::int64_t>(field);
      case value_kind::f64:
        return scalar<double>(field);
      case value_kind::boolean:
        return boolean(field).map([](bool flag) { return value(flag); });
      case value_kind::string:
        return source_.string(field, max_string_bytes).map([](std::string_view text) { return value(text); });
      case value_kind::array:
        return read_array(field);
    }
    return corrupt(field, fmt::format("no value kind has the number {}", *kind));
  }

 private:
  template <class T>
  result<value> scalar(std::string_view field) {
    return source_.number<T>(field).map([](T number) { return value(widen(number)); });
  }

  result<bool> boolean(std::string_view field) {
    const auto byte = source_.number<std::uint8_t>(field);
    if (!byte) return tl::unexpected(byte.error());
    if (*byte > 1) return corrupt(field, fmt::format("a boolean of value {}", *byte));
    return *byte == 1;
  }

  result<value> read_array(std::string_view field) {
    const auto kind = source_.number<std::uint32_t>(field);
    if (!kind) return tl::unexpected(kind.error());
    const auto count = source_.number<std::uint64_t>(field);
    if (!count) return tl::unexpected(count.error());
    if (*count > elements_left_) {
      return corrupt(field, fmt::format("an array of {} elements, more than the {} allowed in one file",
                                        *count, max_array_elements));
    }
    elements_left_ -= *count;
    const auto size = static_cast<std::size_t>(*count);
    switch (static_cast<value_kind>(*kind)) {
      case value_kind::u8:
        return numbers<std::uint8_t>(field, size);
      case value_kind::i8:
        return numbers<std::int8_t>(field, size);
      case value_kind::u16:
        return numbers<std::uint16_t>(field, size);
      case value_kind::i16:
        return numbers<std::int16_t>(field, size);
      case value_kind::u32:
        return numbers<std::uint32_t>(field, size);
      case value_kind::i32:
        return numbers<std::int32_t>(field, size);
      case value_kind::f32:
        return numbers<float>(field, size);
      case value_kind::u64:
        return numbers<std::uint64_t>(field, size);
      case value_kind::i64:
        return numbers<std::int64_t>(field, size);
      case value_kind::f64:
        return numbers<double>(field, size);
      case value_kind::boolean:
        return booleans(field, size);
      case value_kind::string:
        return strings(field, size);
      case value_kind::array:
        return fail(error_code::unsupported, fmt::format("{}: an array of arrays", field),
                    std::string(field));
    }
    return corrupt(field, fmt::format("no array element kind has the number {}", *kind));
  }

  // Nothing is allocated before the bytes left could hold `count` elements of at least `bytes` each.
  result<void> check_room(std::string_view field, std::size_t count, std::size_t bytes) const {
    if (count <= source_.remaining() / bytes) return {};
    return corrupt(field, fmt::format("an array of {} elements in the {} bytes left{}", count,
                                      source_.remaining(), seems_incomplete));
  }

  template <class T>
  result<value> numbers(std::string_view field, std::size_t count) {
    if (auto room = check_room(field, count, sizeof(T)); !room) return tl::unexpected(room.error());
    std::vector<decltype(widen(T{}))> out;
    out.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto number = source_.number<T>(field);
      if (!number) return tl::unexpected(number.error());
      out.push_back(widen(*number));
    }
    return value(array(std::move(out)));
  }

  result<value> booleans(std::string_view field, std::size_t count) {
    if (auto room = check_room(field, count, 1); !room) return tl::unexpected(room.error());
    std::vector<std::int64_t> out;
    out.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto flag = boolean(field);
      if (!flag) return tl::unexpected(flag.error());
      out.push_back(*flag ? 1 : 0);
    }
    return value(array(std::move(out)));
  }

  result<value> strings(std::string_view field, std::size_t count) {
    if (auto room = check_room(field, count, sizeof(std::uint64_t)); !room)
      return tl::unexpected(room.error());
    std::vector<std::string_view> out;
    out.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto text = source_.string(field, max_string_bytes);
      if (!text) return tl::unexpected(text.error());
      out.push_back(*text);
    }
    return value(array(std::move(out)));
  }

  byte_reader& source_;
  std::uint64_t& elements_left_;
};

}  // namespace

result<metadata_map> read_metadata(byte_reader& reader, std::uint64_t count) {
  metadata_map out;
  std::uint64_t elements_left = max_array_elements;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto key = reader.string(fmt::format("name of metadata entry {}", i), max_key_bytes);
    if (!key) return tl::unexpected(key.error());
    const std::string field = "metadata '" + printable(*key) + "'";
    if (key->empty()) return corrupt(fmt::format("name of metadata entry {}", i), "empty");
    auto content = value_reader(reader, elements_left).read(field);
    if (!content) return tl::unexpected(std::move(content.error()));
    if (!out.emplace(*key, std::move(*content)).second) return corrupt(field, "appears twice");
  }
  return out;
}

}  // namespace troupe::gguf
