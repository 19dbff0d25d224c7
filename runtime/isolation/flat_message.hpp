// Values one behind another in memory that two processes of one program share: of one build, so that nothing
// needs a tag or another order of bytes. What is read is never trusted: the other process may have died while
// it wrote.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace troupe {

class flat_writer {
 public:
  explicit flat_writer(std::span<std::byte> room) : room_(room) {}

  template <class T>
  void value(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
    put(&value, sizeof value);
  }
  void flag(bool is_set) { value(static_cast<std::uint8_t>(is_set ? 1 : 0)); }
  // Its length, then its elements.
  template <class T>
  void array(std::span<const T> values) {
    value(static_cast<std::uint64_t>(values.size()));
    elements(values);
  }
  template <class T>
  void array(const std::vector<T>& values) {
    array(std::span<const T>(values));
  }
  // The elements alone.
  template <class T>
  void elements(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
    put(values.data(), values.size_bytes());
  }
  void text(std::string_view text) { array(std::span<const char>(text)); }

  std::size_t size() const { return size_; }

 private:
  // Throws std::length_error where there is no room.
  void put(const void* from, std::size_t bytes) {
    if (bytes > room_.size() - size_) throw std::length_error("a step is larger than the shared memory");
    if (bytes > 0) std::memcpy(room_.data() + size_, from, bytes);
    size_ += bytes;
  }

  std::span<std::byte> room_;
  std::size_t size_ = 0;
};

// Throws std::out_of_range where more is read than there is.
class flat_reader {
 public:
  explicit flat_reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class T>
  T value() {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
    T value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  bool flag() { return value<std::uint8_t>() != 0; }
  template <class T>
  void array(std::vector<T>& into) {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
    const auto count = value<std::uint64_t>();
    if (count > rest_.size() / sizeof(T)) throw std::out_of_range("a message is cut off");
    into.resize(count);
    const std::byte* const from = take(count * sizeof(T));
    if (count > 0) std::memcpy(into.data(), from, count * sizeof(T));
  }
  std::string text() {
    std::vector<char> characters;
    array(characters);
    return {characters.begin(), characters.end()};
  }

 private:
  const std::byte* take(std::size_t bytes) {
    if (bytes > rest_.size()) throw std::out_of_range("a message is cut off");
    const std::byte* const at = rest_.data();
    rest_ = rest_.subspan(bytes);
    return at;
  }

  std::span<const std::byte> rest_;
};

}  // namespace troupe
