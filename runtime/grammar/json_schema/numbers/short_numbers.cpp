#include "runtime/grammar/json_schema/numbers/short_numbers.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "runtime/grammar/json_schema/numbers/magnitudes.hpp"

namespace troupe::json_schema {
namespace {

constexpr std::uint32_t most_digits = 18, most_decimals = 20, most_exponent_digits = 3;
constexpr std::size_t most_named = 16;  // each of which every set is compared with

constexpr const char* behind_signed = "9223372036854775808";     // 2^63
constexpr const char* last_unsigned = "18446744073709551615";    // 2^64 - 1
constexpr const char* behind_unsigned = "18446744073709551616";  // 2^64
constexpr std::array<const char*, 3> beyond{behind_unsigned, "100000000000000000000",
                                            "1000000000000000000000000000000"};

byte_set bytes_of(const char* text) {
  byte_set bytes;
  for (; *text != '\0'; ++text) bytes.insert(static_cast<unsigned char>(*text));
  return bytes;
}

regex_id all_short(regex_store& store) {
  const regex_id digit = store.bytes(byte_set::range('0', '9'));
  const regex_id fraction = store.concat({store.literal("."), store.repeat(digit, 1, most_decimals)});
  const regex_id exponent =
      store.concat({store.bytes(bytes_of("eE")), store.optional(store.bytes(bytes_of("+-"))),
                    store.repeat(digit, 1, most_exponent_digits)});
  const regex_id usual =
      store.concat({store.optional(store.literal("-")), store.repeat(digit, 1, most_digits),
                    store.optional(fraction), store.optional(exponent)});
  const regex_id with_sign =
      store.concat({store.optional(store.literal("-")), magnitudes(store).as_long_and_below(behind_signed)});
  return store.alternation({usual, with_sign, minus(store, store.literal(behind_signed))});
}

// Beyond those of 18 digits.
regex_id all_without_sign(regex_store& store) {
  const regex_id longest = magnitudes(store).as_long_and_below(behind_unsigned);
  return store.alternation(
      {store.repeat(store.bytes(byte_set::range('0', '9')), most_digits + 1, most_digits + 1), longest});
}

// Whether there are whole numbers of 64 bits without a sign among them, and none beyond, as far as a few
// tries find out.
bool are_unsigned(regex_store& store, regex_id numbers, grammar::step_budget& search) {
  const auto has = [&](const char* text) { return store.matches(numbers, text, search) == true; };
  return (has(behind_signed) || has(last_unsigned)) && std::ranges::none_of(beyond, has) &&
         !search.is_spent();
}

// As far as a few tries and a search find out.
bool has_texts(regex_store& store, regex_id of, grammar::step_budget& search) {
  for (const char* text : {"0", "1", "-1", "0.5", "100"})
    if (store.matches(of, text, search) == true) return true;
  return store.is_nothing(of, search) == false;
}

}  // namespace

void short_numbers::name(regex_store& store, const std::vector<decimal>& values) {
  std::vector<std::string> whole, fractional;
  for (const decimal& value : values)
    if (value.whole.size() > most_digits || value.fraction.size() > most_decimals)
      (value.is_integer() ? whole : fractional).push_back(to_text(value));
  if ((whole.empty() && fractional.empty()) || named_.size() > most_named) return;
  const regex_id zeros = store.repeat(store.literal("0"), 0, 3);
  const regex_id no_fraction = store.optional(store.concat({store.literal("."), zeros}));
  named_.push_back(store.alternation({store.concat({store.one_of(std::move(whole)), no_fraction}),
                                      store.concat({store.one_of(std::move(fractional)), zeros})}));
}

regex_id short_numbers::shorten(regex_store& store, regex_id numbers, grammar::step_budget& search) {
  if (numbers == store.nothing() || store.has_multiple(numbers) || named_.size() > most_named) return numbers;
  const auto [known, is_new] = known_.try_emplace(numbers, numbers);
  if (!is_new) return known->second;
  std::vector<regex_id> allowed = named_;
  allowed.push_back(all_short(store));
  const regex_id shorter = store.intersection({numbers, store.alternation(allowed)});
  if (!has_texts(store, shorter, search)) return numbers;
  known->second = shorter;
  if (are_unsigned(store, numbers, search)) {
    allowed.push_back(all_without_sign(store));
    known->second = store.intersection({numbers, store.alternation(allowed)});
  }
  return known->second;
}

}  // namespace troupe::json_schema
