#include "runtime/wire/frame.hpp"

namespace troupe::wire {
namespace {

template <class Integer>
Integer read_big_endian(const std::uint8_t* bytes) {
  Integer value = 0;
  for (std::size_t i = 0; i < sizeof(Integer); ++i) value = static_cast<Integer>((value << 8U) | bytes[i]);
  return value;
}

template <class Integer>
void write_big_endian(std::uint8_t* bytes, Integer value) {
  for (std::size_t i = sizeof(Integer); i-- > 0; value = static_cast<Integer>(value >> 8U)) {
    bytes[i] = static_cast<std::uint8_t>(value & 0xFFU);
  }
}

}  // namespace

frame_header decode_header(const header_bytes& bytes) {
  return {read_big_endian<std::uint32_t>(bytes.data()), bytes[4],
          read_big_endian<std::uint64_t>(bytes.data() + 5)};
}

header_bytes encode_header(const frame_header& header) {
  header_bytes bytes{};
  write_big_endian(bytes.data(), header.length);
  bytes[4] = header.type;
  write_big_endian(bytes.data() + 5, header.request);
  return bytes;
}

void append_frame(std::string& out, frame_type type, std::uint64_t request, std::string_view payload) {
  const header_bytes header =
      encode_header({static_cast<std::uint32_t>(payload.size()), static_cast<std::uint8_t>(type), request});
  out.append(header.begin(), header.end());
  out += payload;
}

std::optional<std::size_t> client_payload_limit(std::uint8_t type, std::size_t max_generate_bytes) {
  switch (static_cast<frame_type>(type)) {
    case frame_type::hello:
      return max_hello_bytes;
    case frame_type::generate:
      return max_generate_bytes;
    case frame_type::cancel:
      return 0;
    case frame_type::ping:
      return max_ping_bytes;
    default:
      return std::nullopt;
  }
}

}  // namespace troupe::wire
