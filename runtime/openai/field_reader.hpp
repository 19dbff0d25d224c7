// Typed access to the members of a request body. The first wrong one is remembered and named.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/json/json_reader.hpp"
#include "runtime/request.hpp"
#include "runtime/result.hpp"

namespace troupe::openai {

// A member that is absent or null leaves the target as it was; so does a wrong one, after which ok() is
// false.
class field_reader {
 public:
  explicit field_reader(const json& object) : object_(object) {}

  const json* find(std::string_view name) const;  // nullptr where absent or null
  bool has(std::string_view name) const { return find(name) != nullptr; }

  void read(std::string_view name, bool& target);
  void read(std::string_view name, std::int32_t& target);
  void read(std::string_view name, std::optional<std::int32_t>& target);
  void read(std::string_view name, std::int64_t& target);
  void read(std::string_view name, float& target);
  void read(std::string_view name, std::string& target, std::size_t max_bytes);
  void read(std::string_view name, std::vector<token_id>& target, std::size_t max_count);

  // The names of members that are not null and that nobody has asked for, as they stand.
  std::vector<std::string_view> unread() const;

  void reject(std::string_view name, std::string message, error_code code = error_code::invalid_argument);
  bool ok() const { return !error_.has_value(); }
  result<void> status() const;

 private:
  const json& object_;
  mutable std::vector<const json*> read_;  // the values that were asked for
  std::optional<error> error_;
};

// What is empty, or false: a member of such a value asks for nothing.
bool says_nothing(const json& value);

// The value of a whole number, where it is one and fits; also of one that is written with a point (8.0), as
// languages write it that count in fractions.
std::optional<std::int64_t> as_integer(const json& value);

// Token ids of a JSON array: integers from 0 up to below `vocab_size`. Errors name `param`.
result<std::vector<token_id>> read_token_ids(const json& array, std::int32_t vocab_size,
                                             std::string_view param);

}  // namespace troupe::openai
