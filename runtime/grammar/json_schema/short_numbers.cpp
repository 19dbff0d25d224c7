#include "runtime/grammar/json_schema/short_numbers.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace troupe::json_schema {
namespace {

using grammar::byte_set;
using grammar::regex_id;
using grammar::regex_store;

constexpr std::uint32_t most_digits = 18, most_decimals = 20, most_exponent_digits = 3;
constexpr std::size_t most_named = 16;  // each of which every set is compared with

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
  return store.concat({store.optional(store.literal("-")), store.repeat(digit, 1, most_digits),
                       store.optional(fraction), store.optional(exponent)});
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
  if (has_texts(store, shorter, search)) known->second = shorter;
  return known->second;
}

}  // namespace troupe::json_schema
