#include "runtime/gguf/tensor_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_set>

#include "runtime/gguf/printable.hpp"

namespace troupe::gguf {
namespace {

// Fills shape and its checked product.
result<std::uint64_t> read_shape(byte_reader& reader, std::string_view field, tensor& out) {
  const auto dimensions = reader.number<std::uint32_t>(field);
  if (!dimensions) return tl::unexpected(dimensions.error());
  if (*dimensions > out.shape.size()) return corrupt(field, fmt::format("{} dimensions", *dimensions));
  out.dimensions = *dimensions;
  std::uint64_t elements = 1;
  for (std::uint32_t i = 0; i < *dimensions; ++i) {
    const auto length = reader.number<std::uint64_t>(field);
    if (!length) return tl::unexpected(length.error());
    if (*length == 0) return corrupt(field, fmt::format("dimension {} is 0", i));
    if (__builtin_mul_overflow(elements, *length, &elements))
      return corrupt(field, "its shape overflows 64 bits");
    out.shape[i] = *length;
  }
  return elements;
}

result<std::uint64_t> byte_size(std::string_view field, const tensor& description, std::uint64_t elements) {
  const std::uint64_t per_block = block_elements(description.type);
  if (description.shape[0] % per_block != 0) {
    return corrupt(field, fmt::format("rows of {} elements are no whole number of {} blocks of {}",
                                      description.shape[0], to_string(description.type), per_block));
  }
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(elements / per_block, std::uint64_t{block_bytes(description.type)}, &bytes)) {
    return corrupt(field, "its size overflows 64 bits");
  }
  return bytes;
}

result<tensor_entry> read_entry(byte_reader& reader, std::uint64_t index) {
  const auto name = reader.string(fmt::format("name of tensor {}", index), max_tensor_name_bytes);
  if (!name) return tl::unexpected(name.error());
  if (name->empty()) return corrupt(fmt::format("name of tensor {}", index), "empty");
  tensor_entry out;
  out.description.name = *name;
  const std::string field = "tensor '" + printable(*name) + "'";
  const auto elements = read_shape(reader, field, out.description);
  if (!elements) return tl::unexpected(elements.error());
  const auto type = reader.number<std::uint32_t>(field);
  if (!type) return tl::unexpected(type.error());
  out.description.type = static_cast<tensor_type>(*type);
  if (block_elements(out.description.type) == 0) {
    return fail(error_code::unsupported, fmt::format("{}: unknown tensor type {}", field, *type), field);
  }
  const auto bytes = byte_size(field, out.description, *elements);
  if (!bytes) return tl::unexpected(bytes.error());
  out.bytes = *bytes;
  const auto offset = reader.number<std::uint64_t>(field);
  if (!offset) return tl::unexpected(offset.error());
  out.offset = *offset;
  return out;
}

result<void> check_overlaps(const std::vector<tensor_entry>& entries) {
  std::vector<std::size_t> order(entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](auto a, auto b) { return entries[a].offset < entries[b].offset; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const auto& before = entries[order[i - 1]];
    const auto& after = entries[order[i]];
    if (after.offset - before.offset < before.bytes) {
      return corrupt("tensor '" + printable(after.description.name) + "'",
                     "its data overlap those of '" + printable(before.description.name) + "'");
    }
  }
  return {};
}

}  // namespace

result<std::vector<tensor_entry>> read_tensor_table(byte_reader& reader, std::uint64_t count) {
  std::vector<tensor_entry> out;
  std::unordered_set<std::string_view> names;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto entry = read_entry(reader, i);
    if (!entry) return tl::unexpected(std::move(entry.error()));
    if (!names.insert(entry->description.name).second) {
      return corrupt("tensor '" + printable(entry->description.name) + "'", "appears twice");
    }
    out.push_back(*entry);
  }
  return out;
}

result<std::vector<tensor>> locate_tensors(const std::vector<tensor_entry>& entries,
                                           std::span<const std::byte> data, std::uint64_t alignment) {
  std::vector<tensor> out;
  out.reserve(entries.size());
  for (const auto& entry : entries) {
    const std::string field = "tensor '" + printable(entry.description.name) + "'";
    if (entry.offset % alignment != 0) {
      return corrupt(field, fmt::format("its offset {} is no multiple of {}", entry.offset, alignment));
    }
    if (entry.offset > data.size() || entry.bytes > data.size() - entry.offset) {
      return corrupt(field, fmt::format("its {} bytes at offset {} lie outside the file's {} bytes of data{}",
                                        entry.bytes, entry.offset, data.size(), seems_incomplete));
    }
    out.push_back(entry.description);
    out.back().data =
        data.subspan(static_cast<std::size_t>(entry.offset), static_cast<std::size_t>(entry.bytes));
  }
  if (auto apart = check_overlaps(entries); !apart) return tl::unexpected(std::move(apart.error()));
  return out;
}

}  // namespace troupe::gguf
