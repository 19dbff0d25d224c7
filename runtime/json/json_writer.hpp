// Appends JSON to a string: the way out of every answer, chunk and frame. No document is built on the way.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

// `text` as a JSON string with its quotes. Bytes that are not UTF-8 come out as U+FFFD.
void append_json_string(std::string& out, std::string_view text);

// Commas are placed by looking at what stands before. Balanced calls are the caller's affair.
class json_writer {
 public:
  explicit json_writer(std::string& out) : out_(out), start_(out.size()) {}

  json_writer& begin_object() { return open('{'); }
  json_writer& end_object() { return close('}'); }
  json_writer& begin_array() { return open('['); }
  json_writer& end_array() { return close(']'); }
  json_writer& key(std::string_view name);
  json_writer& string(std::string_view text);
  json_writer& integer(std::int64_t value);
  json_writer& number(float value);  // the shortest digits that read back the same; not finite: null
  json_writer& boolean(bool value);
  json_writer& null();
  // A value, or members of an object without its braces, that is JSON text already; empty: nothing.
  json_writer& raw(std::string_view text);

 private:
  json_writer& open(char bracket);
  json_writer& close(char bracket);
  void separate();

  std::string& out_;
  std::size_t start_;
};

}  // namespace troupe
