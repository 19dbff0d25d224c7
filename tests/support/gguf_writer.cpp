#include "tests/support/gguf_writer.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <utility>

namespace troupe::test {
namespace {

void pad(std::string& bytes, std::uint64_t alignment) {
  while (bytes.size() % alignment != 0) bytes.push_back('\0');
}

template <class T>
std::string raw_array(gguf_kind kind, const std::vector<T>& values) {
  std::string out = raw(static_cast<std::uint32_t>(kind)) + raw<std::uint64_t>(values.size());
  for (const auto& value : values) out += raw(value);
  return out;
}

constexpr std::uint32_t number(gguf_kind kind) { return static_cast<std::uint32_t>(kind); }

}  // namespace

std::string raw_string(std::string_view text) { return raw<std::uint64_t>(text.size()) + std::string(text); }

gguf_writer& gguf_writer::add_raw(std::string_view key, std::uint32_t kind, std::string_view payload) {
  metadata_.push_back({std::string(key), raw_string(key) + raw(kind) + std::string(payload)});
  return *this;
}

gguf_writer& gguf_writer::add(std::string_view key, std::uint8_t value) {
  return add_raw(key, number(gguf_kind::u8), raw(value));
}
gguf_writer& gguf_writer::add(std::string_view key, std::int8_t value) {
  return add_raw(key, number(gguf_kind::i8), raw(value));
}
gguf_writer& gguf_writer::add(std::string_view key, std::uint16_t value) {
  return add_raw(key, number(gguf_kind::u16), raw(value));
}
gguf_writer& gguf_writer::add(std::string_view key, std::int16_t value) {
  return add_raw(key, number(gguf_kind::i16), raw(value));
}
gguf_writer& gguf_writer::add(std::string_view key, std::uint32_t value) {
  return add_raw(key, number(gguf_kind::u32), raw(value));
}
gguf_writer& gguf_writer::add(std::string_view key, std::int32_t value) {
  return add_raw(key, number(gguf_kind::i32), raw(value));
}
gguf_writer& gguf_writer::add(std::string_view key, std::uint64_t value) {
  return add_raw(key, number(gguf_kind::u64), raw(value));
}
gguf_writer& gguf_writer::add(std::string_view key, std::int64_t value) {
  return add_raw(key, number(gguf_kind::i64), raw(value));
}
gguf_writer& gguf_writer::add(std::string_view key, float value) {
  return add_raw(key, number(gguf_kind::f32), raw(value));
}
gguf_writer& gguf_writer::add(std::string_view key, double value) {
  return add_raw(key, number(gguf_kind::f64), raw(value));
}
gguf_writer& gguf_writer::add(std::string_view key, bool value) {
  return add_raw(key, number(gguf_kind::boolean), raw<std::uint8_t>(value ? 1 : 0));
}
gguf_writer& gguf_writer::add(std::string_view key, std::string_view value) {
  return add_raw(key, number(gguf_kind::string), raw_string(value));
}
gguf_writer& gguf_writer::add(std::string_view key, const std::vector<std::string>& values) {
  std::string payload = raw(number(gguf_kind::string)) + raw<std::uint64_t>(values.size());
  for (const auto& value : values) payload += raw_string(value);
  return add_raw(key, number(gguf_kind::array), payload);
}
gguf_writer& gguf_writer::add(std::string_view key, const std::vector<float>& values) {
  return add_raw(key, number(gguf_kind::array), raw_array(gguf_kind::f32, values));
}
gguf_writer& gguf_writer::add(std::string_view key, const std::vector<std::int32_t>& values) {
  return add_raw(key, number(gguf_kind::array), raw_array(gguf_kind::i32, values));
}

gguf_writer& gguf_writer::add_tensor(std::string_view name, std::vector<std::uint64_t> shape,
                                     gguf::tensor_type type, std::string_view data) {
  pad(data_, alignment_);
  add_tensor_entry(name, shape, static_cast<std::uint32_t>(type), data_.size());
  data_ += data;
  return *this;
}

gguf_writer& gguf_writer::add_tensor_entry(std::string_view name, const std::vector<std::uint64_t>& shape,
                                           std::uint32_t type, std::uint64_t offset) {
  std::string bytes = raw_string(name) + raw(static_cast<std::uint32_t>(shape.size()));
  for (const auto length : shape) bytes += raw(length);
  table_.push_back({std::string(name), bytes + raw(type) + raw(offset)});
  return *this;
}

gguf_writer& gguf_writer::drop(std::string_view key) {
  std::erase_if(metadata_, [&](const entry& each) { return each.name == key; });
  return *this;
}
gguf_writer& gguf_writer::drop_tensor(std::string_view name) {
  std::erase_if(table_, [&](const entry& each) { return each.name == name; });
  return *this;
}

gguf_writer& gguf_writer::claim_tensors(std::uint64_t count) {
  claimed_tensors_ = count;
  return *this;
}
gguf_writer& gguf_writer::claim_keys(std::uint64_t count) {
  claimed_keys_ = count;
  return *this;
}
gguf_writer& gguf_writer::align(std::uint32_t alignment) {
  alignment_ = alignment;
  return add("general.alignment", alignment);
}

std::string gguf_writer::bytes() const {
  std::string out = "GGUF" + raw(version_);
  out += raw<std::uint64_t>(claimed_tensors_.value_or(table_.size()));
  out += raw<std::uint64_t>(claimed_keys_.value_or(metadata_.size()));
  for (const auto& each : metadata_) out += each.bytes;
  for (const auto& each : table_) out += each.bytes;
  pad(out, alignment_);
  return out + data_;
}

temporary_file::temporary_file(std::string_view content) {
  std::string pattern = (std::filesystem::temp_directory_path() / "troupe-test-XXXXXX").string();
  const int descriptor = ::mkstemp(pattern.data());
  if (descriptor < 0) throw std::runtime_error("cannot make a temporary file");
  path_ = pattern;
  bool written = true;
  while (written && !content.empty()) {
    const auto count = ::write(descriptor, content.data(), content.size());
    written = count > 0;
    if (written) content.remove_prefix(static_cast<std::size_t>(count));
  }
  ::close(descriptor);
  if (!written) throw std::runtime_error("cannot write " + path_);
}

temporary_file::temporary_file(temporary_file&& other) noexcept : path_(std::exchange(other.path_, {})) {}
temporary_file& temporary_file::operator=(temporary_file&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}
temporary_file::~temporary_file() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

}  // namespace troupe::test
