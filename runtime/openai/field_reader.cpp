#include "runtime/openai/field_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace troupe::openai {

bool says_nothing(const json& value) {
  return (value.is_structured() && value.empty()) || value == "" || value == false;
}

std::optional<std::int64_t> as_integer(const json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  constexpr double end = 0x1.0p63;
  const auto number = value.get<double>();
  const bool fits = number >= -end && number < end && std::trunc(number) == number;
  return fits ? std::optional(static_cast<std::int64_t>(number)) : std::nullopt;
}

const json* field_reader::find(std::string_view name) const {
  const auto member = object_.find(name);
  if (member == object_.end()) return nullptr;
  read_.push_back(&*member);
  return member->is_null() ? nullptr : &*member;
}

std::vector<std::string_view> field_reader::unread() const {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : object_.get_ref<const json::object_t&>())
    if (!value.is_null() && std::ranges::find(read_, &value) == read_.end()) names.emplace_back(name);
  return names;
}

void field_reader::read(std::string_view name, bool& target) {
  const json* const value = find(name);
  if (value == nullptr) return;
  if (!value->is_boolean()) return reject(name, fmt::format("{} must be true or false", name));
  target = value->get<bool>();
}

void field_reader::read(std::string_view name, std::int64_t& target) {
  const json* const value = find(name);
  if (value == nullptr) return;
  const auto number = as_integer(*value);
  if (!number) return reject(name, fmt::format("{} must be an integer of 64 bits", name));
  target = *number;
}

void field_reader::read(std::string_view name, std::optional<std::int32_t>& target) {
  if (!has(name)) return;
  std::int32_t number = 0;
  read(name, number);
  if (ok()) target = number;
}

void field_reader::read(std::string_view name, std::int32_t& target) {
  const json* const value = find(name);
  if (value == nullptr) return;
  const auto number = as_integer(*value);
  if (!number || *number < std::numeric_limits<std::int32_t>::min() ||
      *number > std::numeric_limits<std::int32_t>::max()) {
    return reject(name, fmt::format("{} must be an integer of 32 bits", name));
  }
  target = static_cast<std::int32_t>(*number);
}

void field_reader::read(std::string_view name, float& target) {
  const json* const value = find(name);
  if (value == nullptr) return;
  if (!value->is_number()) return reject(name, fmt::format("{} must be a number", name));
  const auto number = value->get<double>();
  if (number > std::numeric_limits<float>::max() || number < std::numeric_limits<float>::lowest()) {
    return reject(name, fmt::format("{} is out of range", name));
  }
  target = static_cast<float>(number);
}

void field_reader::read(std::string_view name, std::string& target, std::size_t max_bytes) {
  const json* const value = find(name);
  if (value == nullptr) return;
  if (!value->is_string()) return reject(name, fmt::format("{} must be a string", name));
  const auto& text = value->get_ref<const std::string&>();
  if (text.size() > max_bytes)
    return reject(name, fmt::format("{} is longer than {} bytes", name, max_bytes));
  target = text;
}

void field_reader::read(std::string_view name, std::vector<token_id>& target, std::size_t max_count) {
  const json* const value = find(name);
  if (value == nullptr) return;
  if (!value->is_array()) return reject(name, fmt::format("{} must be an array of token ids", name));
  if (value->size() > max_count)
    return reject(name, fmt::format("{} has more than {} entries", name, max_count));
  auto ids = read_token_ids(*value, std::numeric_limits<std::int32_t>::max(), name);
  if (!ids) return reject(name, ids.error().message);
  target = std::move(*ids);
}

void field_reader::reject(std::string_view name, std::string message, error_code code) {
  if (!error_) error_ = error{code, std::move(message), std::string(name)};
}

result<void> field_reader::status() const {
  if (error_) return tl::unexpected<error>(*error_);
  return {};
}

result<std::vector<token_id>> read_token_ids(const json& array, std::int32_t vocab_size,
                                             std::string_view param) {
  std::vector<token_id> ids;
  ids.reserve(array.size());
  for (const json& element : array) {
    const auto number = as_integer(element);
    if (!number) {
      return fail(error_code::invalid_argument, fmt::format("{} must hold only integer token ids", param),
                  std::string(param));
    }
    if (*number < 0 || *number >= vocab_size) {
      return fail(error_code::invalid_argument,
                  fmt::format("token id {} in {} is outside the vocabulary", *number, param),
                  std::string(param));
    }
    ids.push_back(static_cast<token_id>(*number));
  }
  return ids;
}

}  // namespace troupe::openai
