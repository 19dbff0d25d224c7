#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "runtime/grammar/json_schema/numbers/number_reach.hpp"
#include "runtime/grammar/json_schema/numbers/scientific_language.hpp"
#include "runtime/grammar/json_schema/words/words.hpp"
#include "runtime/json/exact_number.hpp"

namespace troupe::json_schema {
namespace {

constexpr std::array<const char*, 5> number_names{"minimum", "exclusiveMinimum", "maximum",
                                                  "exclusiveMaximum", "multipleOf"};
constexpr std::size_t steps_per_digit = 8;

std::optional<decimal> number_word(workspace& work, const json& node, std::string_view word) {
  const json* value = find_word(work, node, word);
  if (value == nullptr) return std::nullopt;
  if (is_number(*value)) {
    decimal number = to_decimal(*value);
    work.spend(steps_per_digit * (number.whole.size() + number.fraction.size()));
    return number;
  }
  work.malformed(node, word, "must be a number");
  return std::nullopt;
}

// Draft 4 has a Boolean beside the bound, later drafts a bound of its own.
std::vector<number_bound> bounds_of(workspace& work, const json& node, std::string_view inclusive,
                                    std::string_view exclusive) {
  std::vector<number_bound> out;
  const json* flag = find_word(work, node, exclusive);
  const bool is_flag = flag != nullptr && flag->is_boolean();
  if (const auto value = number_word(work, node, inclusive))
    out.push_back({*value, is_flag && flag->get<bool>()});
  if (!is_flag && work.document.version() > draft::draft4)
    if (const auto value = number_word(work, node, exclusive)) out.push_back({*value, true});
  return out;
}

// Where doubles are further apart than whole numbers "9007199254740993.0" is read as less than it says.
bool tells_doubles_from_numbers(const number_bound& bound) {
  constexpr std::size_t digits_of_2_to_the_53rd = 16;
  return bound.value.whole.size() >= digits_of_2_to_the_53rd &&
         (bound.exclusive || (bound.value.is_integer() && !is_a_double(bound.value)));
}

number_texts make_bounded(workspace& work, const json& node, number_texts of) {
  regex_store& regex = work.regex;
  const auto both = [&](regex_id a, regex_id b) {
    return a == work.text.number ? b : regex.intersection({a, b});
  };
  const auto narrow = [&](regex_id to, regex_id reach) {
    const bool is_sure = of.reach == of.numbers && reach == to;
    of.numbers = both(of.numbers, to);
    of.reach = is_sure ? of.numbers : both(of.reach, reach);
  };
  const auto lows = bounds_of(work, node, "minimum", "exclusiveMinimum");
  const auto highs = bounds_of(work, node, "maximum", "exclusiveMaximum");
  if (work.failed()) return of;
  const auto narrow_by = [&](const std::vector<number_bound>& bounds, bool are_lower, auto texts_within) {
    for (const number_bound& each : bounds) {
      const number_bound bound = as_doubles(each, are_lower);
      narrow(texts_within(regex, work.text, bound.value, bound.exclusive),
             reach_of_bound(regex, work.text, each, are_lower));
    }
  };
  narrow_by(lows, true, at_least);
  narrow_by(highs, false, at_most);
  of.only_exact = of.only_exact || std::ranges::any_of(lows, tells_doubles_from_numbers) ||
                  std::ranges::any_of(highs, tells_doubles_from_numbers);
  if (!lows.empty() || !highs.empty()) {
    of.outside = regex.alternation({of.outside, scientific_beyond(regex, work.text.scientific, lows, highs)});
    if (of.scientific != regex.nothing())
      of.scientific =
          scientific_within(regex, of.scientific, lows, highs, of.scientific == work.text.scientific_integer);
  }
  if (const auto step = number_word(work, node, "multipleOf")) {
    if (step->negative || step->is_zero()) {
      work.malformed(node, "multipleOf", "must be greater than 0");
    } else if (const auto multiples = multiples_of(regex, work.text, *step)) {
      narrow(*multiples, regex.alternation({*multiples, reach_of_multiples(regex, *step)}));
      // Of so many decimals no double tells which is a multiple.
      constexpr std::size_t decimals_of_doubles = 15;
      of.only_exact = of.only_exact || step->fraction.size() <= decimals_of_doubles;
      of.scientific = scientific_multiples(regex, of.scientific, *step);
      if (work.options.plain_integers && step->is_integer()) {
        of.numbers = both(of.numbers, work.text.plain_integer);
        of.scientific = regex.nothing();
      }
    } else {
      work.refuse(node, "multipleOf", "is too large or has too many digits");
    }
  }
  return of;
}

}  // namespace

regex_id written_numbers(workspace& work, const value_set& of) {
  if (!of.only_exact) return work.as_written(of.numbers);
  if (!work.exactly_read) work.exactly_read = exactly_read(work.regex, work.text);
  return work.as_written(work.regex.intersection({of.numbers, *work.exactly_read}));
}

regex_id written_scientific(workspace& work, const value_set& of) { return work.as_written(of.scientific); }

number_texts number_words(workspace& work, const json& node, number_texts of) {
  std::string key;
  for (const char* word : number_names)
    if (const json* value = find_word(work, node, word)) key += word + dump_exactly(*value);
  if (key.empty() || !work.spend(1 + key.size() / 16)) return of;
  key += fmt::format("|{}|{}|{}|{}|{}", static_cast<std::uint32_t>(of.numbers),
                     static_cast<std::uint32_t>(of.reach), static_cast<std::uint32_t>(of.scientific),
                     static_cast<std::uint32_t>(of.outside), of.only_exact);
  const auto known = work.bounded_numbers.find(key);
  if (known != work.bounded_numbers.end()) return known->second;
  const number_texts made = make_bounded(work, node, of);
  work.bounded_numbers.emplace(std::move(key), made);
  return made;
}

}  // namespace troupe::json_schema
