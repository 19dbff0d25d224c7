#include "runtime/gguf/byte_reader.hpp"

#include <fmt/format.h>

#include <string>

namespace troupe::gguf {

tl::unexpected<error> corrupt(std::string_view field, std::string_view what) {
  return fail(error_code::corrupt_file, fmt::format("{}: {}", field, what), std::string(field));
}

result<std::string_view> byte_reader::string(std::string_view field, std::uint64_t limit) {
  const auto length = number<std::uint64_t>(field);
  if (!length) return tl::unexpected(length.error());
  if (*length > limit) {
    return corrupt(field, fmt::format("a string of {} bytes, more than the {} allowed", *length, limit));
  }
  if (*length > remaining()) return too_short(field, *length);
  const std::string_view view(reinterpret_cast<const char*>(bytes_.data() + position_),
                              static_cast<std::size_t>(*length));
  position_ += view.size();
  return view;
}

tl::unexpected<error> byte_reader::too_short(std::string_view field, std::uint64_t wanted) const {
  return corrupt(field, fmt::format("the file ends too early ({} bytes wanted at offset {}, {} left){}",
                                    wanted, position_, remaining(), seems_incomplete));
}

}  // namespace troupe::gguf
