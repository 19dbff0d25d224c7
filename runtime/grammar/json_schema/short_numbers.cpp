#include "runtime/grammar/json_schema/short_numbers.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "runtime/grammar/json_schema/decimal.hpp"

namespace troupe::json_schema {
namespace {

using grammar::byte_set;

constexpr std::uint32_t most_digits = 18, most_decimals = 20, most_exponent_digits = 3;
// One less, so that a whole number beyond a limit, or a multiple of a step, has room.
constexpr std::size_t digits_of_bounds = 17, decimals_of_bounds = 19;

bool is_long(const decimal& number) {
  return number.whole.size() > digits_of_bounds || number.fraction.size() > decimals_of_bounds;
}

// An upper limit that is larger than all short numbers, or a lower one that is less.
bool is_far_limit(std::string_view word, const decimal& number) {
  const bool is_upper = word == "maximum" || word == "exclusiveMaximum";
  const bool is_lower = word == "minimum" || word == "exclusiveMinimum";
  return number.whole.size() > digits_of_bounds && (number.negative ? is_lower : is_upper);
}

// `may_be_limit`: nothing around the node makes values of a limit's number, or turns it around.
bool needs_long_numbers(const json& node, std::string_view word, bool may_be_limit) {
  if (is_number(node)) {
    const decimal number = to_decimal(node);
    return is_long(number) && !(may_be_limit && is_far_limit(word, number));
  }
  if (node.is_array())
    return std::ranges::any_of(node,
                               [&](const json& item) { return needs_long_numbers(item, "", may_be_limit); });
  if (!node.is_object()) return false;
  return std::ranges::any_of(node.items(), [&](const auto& member) {
    constexpr std::array<std::string_view, 5> other_words{"const", "enum", "not", "oneOf", "if"};
    const bool is_other = std::ranges::find(other_words, member.key()) != other_words.end();
    return needs_long_numbers(member.value(), member.key(), may_be_limit && !is_other);
  });
}

}  // namespace

grammar::regex_id short_numbers(grammar::regex_store& store) {
  const auto digit = store.bytes(byte_set::range('0', '9'));
  byte_set signs, marks;
  for (const char sign : {'+', '-'}) signs.insert(static_cast<unsigned char>(sign));
  for (const char mark : {'e', 'E'}) marks.insert(static_cast<unsigned char>(mark));
  const auto fraction = store.concat({store.literal("."), store.repeat(digit, 1, most_decimals)});
  const auto exponent = store.concat(
      {store.bytes(marks), store.optional(store.bytes(signs)), store.repeat(digit, 1, most_exponent_digits)});
  return store.concat({store.optional(store.literal("-")), store.repeat(digit, 1, most_digits),
                       store.optional(fraction), store.optional(exponent)});
}

bool needs_long_numbers(const nlohmann::ordered_json& schema) { return needs_long_numbers(schema, "", true); }

}  // namespace troupe::json_schema
