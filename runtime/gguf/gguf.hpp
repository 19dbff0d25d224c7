// Model files in GGUF v2 and v3 (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md), memory-mapped,
// read-only.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/result.hpp"

namespace troupe::gguf {

// The file format's own numbers. A file may hold types beyond these: they are known by name and size (so that
// a file can be listed), but is_served() is false for them and load_model refuses them.
enum class tensor_type : std::uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  bf16 = 30,
};

const char* to_string(tensor_type type);  // "Q4_1"
std::size_t block_elements(
    tensor_type type);  // a served type's is 1, 32 or 256; 0 for a number that is no type
std::size_t block_bytes(tensor_type type);
bool is_served(tensor_type type);  // one of the enumerators: dequantize() knows it

// Arrays are kept by element kind: integers widened, floats as double, bools as int64, strings as views into
// the file.
using array = std::variant<std::vector<std::int64_t>, std::vector<std::uint64_t>, std::vector<double>,
                           std::vector<std::string_view>>;
using value = std::variant<std::uint64_t, std::int64_t, double, bool, std::string_view, array>;

// A tensor of the file. shape[0] is the fastest-running dimension: a weight of `out x in` has shape {in,
// out}.
struct tensor {
  std::string_view name;
  std::uint32_t dimensions = 0;
  std::array<std::uint64_t, 4> shape{1, 1, 1, 1};
  tensor_type type = tensor_type::f32;
  std::span<const std::byte> data;  // exactly the bytes that shape and type ask for, proven inside the file

  std::uint64_t elements() const { return shape[0] * shape[1] * shape[2] * shape[3]; }
};

class mapping;

// Views stay valid while the file object (or a copy of it: the mapping is shared) lives.
class file {
 public:
  // Maps and checks the whole header. Errors: io_error, corrupt_file, unsupported; the message names path and
  // field.
  static result<file> open(const std::string& path);
  // The same of a file that is open, which is left open; messages name `name`.
  static result<file> of(int descriptor, const std::string& name);

  std::uint32_t version() const;
  const std::map<std::string_view, value>& metadata() const;
  const std::vector<tensor>& tensors() const;
  const value* find(std::string_view key) const;           // nullptr: absent
  const tensor* find_tensor(std::string_view name) const;  // nullptr: absent

  // Typed reads with numeric conversion where no information is lost. get: not_found when absent;
  // get_or: `fallback` when absent; corrupt_file when the kind or the range is wrong.
  result<std::int64_t> get_int(std::string_view key) const;
  result<double> get_float(std::string_view key) const;
  result<bool> get_bool(std::string_view key) const;
  result<std::string_view> get_string(std::string_view key) const;
  result<std::int64_t> get_int_or(std::string_view key, std::int64_t fallback) const;
  result<double> get_float_or(std::string_view key, double fallback) const;
  result<bool> get_bool_or(std::string_view key, bool fallback) const;

 private:
  struct contents;
  static result<file> read(mapping mapped, const std::string& name);
  std::shared_ptr<const contents> contents_;
};

// Dequantises `count` elements (a multiple of block_elements) from `source` into `out`. Formats: ggml's block
// layouts (ggml/src/ggml-common.h). Throws std::invalid_argument for a type that is not served.
void dequantize(tensor_type type, const std::byte* source, std::size_t count, float* out);

}  // namespace troupe::gguf
