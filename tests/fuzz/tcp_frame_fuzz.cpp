// What a client of the TCP protocol may send: frame after frame, taken apart as a session does.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/json/json_reader.hpp"
#include "runtime/openai/request.hpp"
#include "runtime/wire/frame.hpp"
#include "runtime/wire/payloads.hpp"
#include "tests/fuzz/require.hpp"

namespace troupe::fuzz {
namespace {

constexpr std::size_t max_generate_bytes = 1U << 16U;

void read_payload(std::uint8_t type, std::string_view payload) {
  if (type == static_cast<std::uint8_t>(wire::frame_type::hello)) {
    const auto understood = wire::parse_hello(payload);
    require(understood || !wire::error_payload(understood.error()).empty(), "an error can be sent");
  }
  if (type != static_cast<std::uint8_t>(wire::frame_type::generate)) return;
  const auto document = read_json(payload);
  if (!document) return;
  const auto request = openai::parse_generation(*document, {.model = "m", .vocab_size = 300});
  if (request) return;
  const auto told = read_json(wire::error_payload(request.error()));
  require(told && told->contains("error"), "an error is a document, whatever the field is called");
}

// The rest, or nothing where the session would end.
std::string_view read_frame(std::string_view stream) {
  wire::header_bytes bytes{};
  std::copy_n(stream.begin(), bytes.size(), bytes.begin());
  const wire::frame_header header = wire::decode_header(bytes);
  require(wire::encode_header(header) == bytes, "a header is written as it was read");
  const auto limit = wire::client_payload_limit(header.type, max_generate_bytes);
  if (!limit || header.length > *limit) return {};
  stream.remove_prefix(bytes.size());
  if (header.length > stream.size()) return {};
  read_payload(header.type, stream.substr(0, header.length));
  return stream.substr(header.length);
}

}  // namespace
}  // namespace troupe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view stream(reinterpret_cast<const char*>(data), size);
  while (stream.size() >= troupe::wire::frame_header_bytes) stream = troupe::fuzz::read_frame(stream);
  return 0;
}
