// Reads little-endian values from bytes that nobody vouches for: a read past the end is an error, never an
// access.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "runtime/result.hpp"

namespace troupe::gguf {

static_assert(std::endian::native == std::endian::little,
              "GGUF is read in place, which needs a little-endian host");

// What is said of a file that does not hold what it says.
inline constexpr std::string_view seems_incomplete =
    ": it seems to be incomplete, as after a download that was broken off";

// What a damaged file gives: an error that names the field and says what is wrong with it.
tl::unexpected<error> corrupt(std::string_view field, std::string_view what);

class byte_reader {
 public:
  explicit byte_reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t position() const { return position_; }
  std::size_t remaining() const { return bytes_.size() - position_; }

  // Errors: corrupt_file, naming `field` and the position.
  template <class T>
  result<T> number(std::string_view field) {
    static_assert(std::is_arithmetic_v<T>);
    if (sizeof(T) > remaining()) return too_short(field, sizeof(T));
    T out;
    std::memcpy(&out, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return out;
  }

  // A 64-bit length, then that many bytes: a view into the source. Longer than `limit`: corrupt_file.
  result<std::string_view> string(std::string_view field, std::uint64_t limit);

 private:
  tl::unexpected<error> too_short(std::string_view field, std::uint64_t wanted) const;

  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
};

}  // namespace troupe::gguf
