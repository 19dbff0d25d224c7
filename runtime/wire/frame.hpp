// Frames of the TCP protocol (docs/protocol.md): a fixed header, then a payload.
//   length u32 | type u8 | request u64 | payload [length]      integers in network byte order
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace troupe::wire {

inline constexpr std::size_t frame_header_bytes = 13;
inline constexpr std::size_t max_hello_bytes = 4096;
inline constexpr std::size_t max_ping_bytes = 64;

enum class frame_type : std::uint8_t {
  // client to server
  hello = 0x01,
  generate = 0x02,
  cancel = 0x03,
  ping = 0x04,
  // server to client
  welcome = 0x81,
  delta = 0x82,
  finished = 0x83,
  pong = 0x84,
  error = 0x85,
};

struct frame_header {
  std::uint32_t length = 0;  // of the payload, in bytes
  std::uint8_t type = 0;     // whatever the peer wrote
  std::uint64_t request = 0;
};
using header_bytes = std::array<std::uint8_t, frame_header_bytes>;

frame_header decode_header(const header_bytes& bytes);
header_bytes encode_header(const frame_header& header);

// Appends a whole frame. The payload must be shorter than 4 GiB.
void append_frame(std::string& out, frame_type type, std::uint64_t request, std::string_view payload);

// The largest payload that a client may send in a frame of this type; nothing for a type that is not a
// client's.
std::optional<std::size_t> client_payload_limit(std::uint8_t type, std::size_t max_generate_bytes);

}  // namespace troupe::wire
