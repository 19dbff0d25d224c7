#include "tests/actors/net/tcp/frame_client_fixture.hpp"

#include <algorithm>

namespace troupe::net::testing {

std::string frame_bytes(wire::frame_type type, std::uint64_t request, std::string_view payload) {
  std::string bytes;
  wire::append_frame(bytes, type, request, payload);
  return bytes;
}

bool frame_client::send(wire::frame_type type, std::uint64_t request, std::string_view payload) {
  return socket.send(frame_bytes(type, request, payload));
}

frame frame_client::read() {
  frame next;
  const std::string head = socket.read_exactly(wire::frame_header_bytes);
  if (head.size() < wire::frame_header_bytes) return next;
  wire::header_bytes bytes{};
  std::copy(head.begin(), head.end(), bytes.begin());
  const wire::frame_header header = wire::decode_header(bytes);
  next.type = static_cast<wire::frame_type>(header.type);
  next.request = header.request;
  next.payload = socket.read_exactly(header.length);
  next.came = next.payload.size() == header.length;
  return next;
}

frame frame_client::greet() {
  send(wire::frame_type::hello, 0, R"({"protocol":1})");
  return read();
}

}  // namespace troupe::net::testing
