#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "runtime/gguf/gguf.hpp"
#include "runtime/gguf/mapping.hpp"
#include "runtime/gguf/metadata.hpp"
#include "runtime/gguf/printable.hpp"
#include "runtime/gguf/tensor_table.hpp"

namespace troupe::gguf {

struct file::contents {
  mapping bytes;
  std::uint32_t version = 0;
  metadata_map metadata;
  std::vector<tensor> tensors;
  std::unordered_map<std::string_view, std::size_t> tensor_index;
};

namespace {

constexpr std::uint32_t magic = 0x46554747;  // "GGUF"
constexpr std::uint64_t default_alignment = 32;
constexpr std::uint64_t max_alignment = 1U << 20U;

struct header {
  std::uint32_t version = 0;
  std::uint64_t tensors = 0;
  std::uint64_t keys = 0;
};

result<std::uint64_t> read_count(byte_reader& reader, std::string_view field, std::uint64_t limit) {
  const auto count = reader.number<std::uint64_t>(field);
  if (!count || *count <= limit) return count;
  return fail(error_code::corrupt_file, fmt::format("{}: {}, more than the {} allowed", field, *count, limit),
              std::string(field));
}

result<header> read_header(byte_reader& reader) {
  const auto first = reader.number<std::uint32_t>("magic number");
  if (!first) return tl::unexpected(first.error());
  if (*first != magic) return fail(error_code::corrupt_file, "magic number: not a GGUF file", "magic number");
  const auto version = reader.number<std::uint32_t>("version");
  if (!version) return tl::unexpected(version.error());
  if ((*version & 0xFFFFU) == 0 && *version != 0) {
    return fail(error_code::unsupported, "version: a big-endian file", "version");
  }
  if (*version != 2 && *version != 3) {
    return fail(error_code::unsupported, fmt::format("version: {} (2 and 3 are read)", *version), "version");
  }
  const auto tensors = read_count(reader, "tensor count", max_tensors);
  if (!tensors) return tl::unexpected(tensors.error());
  const auto keys = read_count(reader, "metadata count", max_metadata_keys);
  if (!keys) return tl::unexpected(keys.error());
  return header{*version, *tensors, *keys};
}

const value* find_value(const metadata_map& metadata, std::string_view key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> as_int(const value& content) {
  if (const auto* number = std::get_if<std::int64_t>(&content)) return *number;
  const auto* number = std::get_if<std::uint64_t>(&content);
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (number != nullptr && *number <= largest) return static_cast<std::int64_t>(*number);
  return std::nullopt;
}

std::optional<double> as_float(const value& content) {
  if (const auto* number = std::get_if<double>(&content)) return *number;
  const auto number = as_int(content);
  constexpr std::int64_t largest_exact = std::int64_t{1} << 53U;
  if (number && *number >= -largest_exact && *number <= largest_exact) return static_cast<double>(*number);
  return std::nullopt;
}

result<std::uint64_t> alignment_of(const metadata_map& metadata) {
  const value* found = find_value(metadata, "general.alignment");
  if (found == nullptr) return default_alignment;
  const auto number = as_int(*found);
  if (number && *number > 0 && *number % 8 == 0 && *number <= static_cast<std::int64_t>(max_alignment)) {
    return static_cast<std::uint64_t>(*number);
  }
  return fail(error_code::corrupt_file,
              fmt::format("metadata 'general.alignment': not a multiple of 8 up to {}", max_alignment),
              "general.alignment");
}

template <class T>
result<T> convert(const value* found, std::string_view key, const std::optional<T>& converted,
                  const char* wanted) {
  const std::string field = "metadata '" + printable(key) + "'";
  if (found == nullptr) return fail(error_code::not_found, field + ": missing", std::string(key));
  if (!converted) return fail(error_code::corrupt_file, field + ": not " + wanted, std::string(key));
  return *converted;
}

}  // namespace

result<file> file::open(const std::string& path) {
  auto mapped = mapping::open(path);
  if (!mapped) return tl::unexpected(std::move(mapped.error()));
  return read(std::move(*mapped), path);
}

result<file> file::of(int descriptor, const std::string& name) {
  auto mapped = mapping::of(descriptor, name);
  if (!mapped) return tl::unexpected(std::move(mapped.error()));
  return read(std::move(*mapped), name);
}

result<file> file::read(mapping mapped, const std::string& name) {
  auto in_file = [&name](error problem) {
    problem.message = name + ": " + problem.message;
    return tl::unexpected(std::move(problem));
  };
  const auto bytes = mapped.bytes();
  byte_reader reader(bytes);
  const auto head = read_header(reader);
  if (!head) return in_file(head.error());
  auto metadata = read_metadata(reader, head->keys);
  if (!metadata) return in_file(metadata.error());
  const auto entries = read_tensor_table(reader, head->tensors);
  if (!entries) return in_file(entries.error());
  const auto alignment = alignment_of(*metadata);
  if (!alignment) return in_file(alignment.error());
  const std::uint64_t start = (reader.position() + *alignment - 1) / *alignment * *alignment;
  const auto data =
      start < bytes.size() ? bytes.subspan(static_cast<std::size_t>(start)) : bytes.subspan(bytes.size());
  auto tensors = locate_tensors(*entries, data, *alignment);
  if (!tensors) return in_file(tensors.error());

  std::unordered_map<std::string_view, std::size_t> index;
  for (std::size_t i = 0; i < tensors->size(); ++i) index.emplace((*tensors)[i].name, i);
  file out;
  out.contents_ = std::make_shared<const contents>(contents{
      std::move(mapped), head->version, std::move(*metadata), std::move(*tensors), std::move(index)});
  return out;
}

std::uint32_t file::version() const { return contents_->version; }
const std::map<std::string_view, value>& file::metadata() const { return contents_->metadata; }
const std::vector<tensor>& file::tensors() const { return contents_->tensors; }
const value* file::find(std::string_view key) const { return find_value(contents_->metadata, key); }

const tensor* file::find_tensor(std::string_view name) const {
  const auto found = contents_->tensor_index.find(name);
  return found == contents_->tensor_index.end() ? nullptr : &contents_->tensors[found->second];
}

result<std::int64_t> file::get_int(std::string_view key) const {
  const value* found = find(key);
  return convert(found, key, found != nullptr ? as_int(*found) : std::nullopt, "an integer in range");
}

result<double> file::get_float(std::string_view key) const {
  const value* found = find(key);
  return convert(found, key, found != nullptr ? as_float(*found) : std::nullopt, "a number");
}

result<bool> file::get_bool(std::string_view key) const {
  const value* found = find(key);
  const auto* flag = found != nullptr ? std::get_if<bool>(found) : nullptr;
  return convert(found, key, flag != nullptr ? std::optional(*flag) : std::nullopt, "a boolean");
}

result<std::string_view> file::get_string(std::string_view key) const {
  const value* found = find(key);
  const auto* text = found != nullptr ? std::get_if<std::string_view>(found) : nullptr;
  return convert(found, key, text != nullptr ? std::optional(*text) : std::nullopt, "a string");
}

result<std::int64_t> file::get_int_or(std::string_view key, std::int64_t fallback) const {
  return find(key) == nullptr ? result<std::int64_t>(fallback) : get_int(key);
}
result<double> file::get_float_or(std::string_view key, double fallback) const {
  return find(key) == nullptr ? result<double>(fallback) : get_float(key);
}
result<bool> file::get_bool_or(std::string_view key, bool fallback) const {
  return find(key) == nullptr ? result<bool>(fallback) : get_bool(key);
}

}  // namespace troupe::gguf
