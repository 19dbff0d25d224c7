// Builds GGUF files byte by byte for tests: well-formed ones, and damaged ones where asked.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/gguf/gguf.hpp"

namespace troupe::test {

// The format's numbers for value kinds, as `add` writes them.
enum class gguf_kind : std::uint32_t {
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
  f64 = 12
};

class gguf_writer {
 public:
  explicit gguf_writer(std::uint32_t version = 3) : version_(version) {}

  gguf_writer& add(std::string_view key, std::uint8_t value);
  gguf_writer& add(std::string_view key, std::int8_t value);
  gguf_writer& add(std::string_view key, std::uint16_t value);
  gguf_writer& add(std::string_view key, std::int16_t value);
  gguf_writer& add(std::string_view key, std::uint32_t value);
  gguf_writer& add(std::string_view key, std::int32_t value);
  gguf_writer& add(std::string_view key, std::uint64_t value);
  gguf_writer& add(std::string_view key, std::int64_t value);
  gguf_writer& add(std::string_view key, float value);
  gguf_writer& add(std::string_view key, double value);
  gguf_writer& add(std::string_view key, bool value);
  gguf_writer& add(std::string_view key, std::string_view value);
  gguf_writer& add(std::string_view key, const char* value) { return add(key, std::string_view(value)); }
  gguf_writer& add(std::string_view key, const std::vector<std::string>& values);
  gguf_writer& add(std::string_view key, const std::vector<float>& values);
  gguf_writer& add(std::string_view key, const std::vector<std::int32_t>& values);
  // Any kind number with any payload, whether they fit or not.
  gguf_writer& add_raw(std::string_view key, std::uint32_t kind, std::string_view payload);

  // Places the data after the tensors before it, aligned.
  gguf_writer& add_tensor(std::string_view name, std::vector<std::uint64_t> shape, gguf::tensor_type type,
                          std::string_view data);
  // A table entry that says what it likes.
  gguf_writer& add_tensor_entry(std::string_view name, const std::vector<std::uint64_t>& shape,
                                std::uint32_t type, std::uint64_t offset);

  // Takes out what was added under that name. A dropped tensor's data stay as a gap.
  gguf_writer& drop(std::string_view key);
  gguf_writer& drop_tensor(std::string_view name);

  // The whole file. Counts may be overruled to disagree with what was added.
  std::string bytes() const;
  gguf_writer& claim_tensors(std::uint64_t count);
  gguf_writer& claim_keys(std::uint64_t count);
  gguf_writer& align(std::uint32_t alignment);  // also writes general.alignment

 private:
  struct entry {
    std::string name;
    std::string bytes;  // name included
  };

  std::uint32_t version_;
  std::uint64_t alignment_ = 32;
  std::vector<entry> metadata_;
  std::vector<entry> table_;
  std::optional<std::uint64_t> claimed_keys_;
  std::optional<std::uint64_t> claimed_tensors_;
  std::string data_;
};

// Little-endian bytes of numbers and of a length-prefixed string, to compose payloads of add_raw.
template <class T>
std::string raw(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(T));
}
std::string raw_string(std::string_view text);

// A file in the test's temporary folder, removed at the end of its life.
class temporary_file {
 public:
  explicit temporary_file(std::string_view content);
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  temporary_file(temporary_file&& other) noexcept;
  temporary_file& operator=(temporary_file&& other) noexcept;
  ~temporary_file();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace troupe::test
