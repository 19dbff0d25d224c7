#include "runtime/grammar/json_schema/number_language.hpp"
#include "runtime/grammar/json_schema/words.hpp"

namespace troupe::json_schema {
namespace {

std::optional<decimal> number_word(workspace& work, const json& node, std::string_view word) {
  const json* value = find_word(node, word);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) return to_decimal(*value);
  work.malformed(node, word, "must be a number");
  return std::nullopt;
}

struct bound {
  decimal value;
  bool exclusive = false;
};

// Draft 4 has a Boolean beside the bound, later drafts a bound of its own.
std::vector<bound> bounds_of(workspace& work, const json& node, std::string_view inclusive,
                             std::string_view exclusive) {
  std::vector<bound> out;
  const json* flag = find_word(node, exclusive);
  const bool is_flag = flag != nullptr && flag->is_boolean();
  if (const auto value = number_word(work, node, inclusive))
    out.push_back({*value, is_flag && flag->get<bool>()});
  if (!is_flag)
    if (const auto value = number_word(work, node, exclusive)) out.push_back({*value, true});
  return out;
}

}  // namespace

number_texts number_words(workspace& work, const json& node, number_texts of) {
  regex_store& regex = work.regex;
  const auto narrow = [&](regex_id to) {
    of.numbers = of.numbers == work.text.number ? to : regex.intersection({of.numbers, to});
  };
  const regex_id signed_text = regex.concat({regex.literal("-"), regex.any_bytes()});
  for (const bound& low : bounds_of(work, node, "minimum", "exclusiveMinimum")) {
    narrow(at_least(regex, work.text, low.value, low.exclusive));
    // With an exponent only the sign is looked at.
    const bool by_sign = low.value.is_zero() && !low.exclusive;
    of.scientific = by_sign ? regex.difference(of.scientific, signed_text) : regex.nothing();
  }
  for (const bound& high : bounds_of(work, node, "maximum", "exclusiveMaximum")) {
    narrow(at_most(regex, work.text, high.value, high.exclusive));
    const bool by_sign = high.value.is_zero() && !high.exclusive;
    of.scientific = by_sign ? regex.intersection({of.scientific, signed_text}) : regex.nothing();
  }
  if (const auto step = number_word(work, node, "multipleOf")) {
    of.scientific = regex.nothing();
    if (step->negative || step->is_zero()) {
      work.malformed(node, "multipleOf", "must be greater than 0");
    } else if (const auto multiples = multiples_of(regex, work.text, *step)) {
      narrow(*multiples);
    } else {
      work.refuse(node, "multipleOf", "is too large or has too many digits");
    }
  }
  return of;
}

}  // namespace troupe::json_schema
