#include <string>

#include "runtime/grammar/json_schema/texts/formats.hpp"
#include "runtime/grammar/json_schema/texts/pattern_language.hpp"
#include "runtime/grammar/json_schema/words/words.hpp"

namespace troupe::json_schema {

// A class of Unicode has hundreds of ranges.
constexpr std::uint64_t steps_per_range = 12;

regex_id pattern_body(workspace& work, const json& node, std::string_view word, const std::string& pattern) {
  const auto body = pattern_language(
      work.regex, pattern,
      {[&work](regex_store& store, const grammar::code_point_set& set) {
         return work.spend(steps_per_range * set.size()) ? spell(store, set) : store.nothing();
       },
       work.text.spelled_body, false},
      {.max_bytes = work.limits.max_source_bytes, .max_depth = work.limits.max_depth});
  if (body) return *body;
  const bool is_key = word == "patternProperties";
  work.refuse(node, word, "cannot be read: " + body.error().message, body.error().code,
              is_key ? std::optional<std::string_view>(pattern) : std::nullopt);
  return work.regex.nothing();
}

string_bodies string_words(workspace& work, const json& node) {
  string_bodies out{work.text.any_body, work.text.any_body};
  const auto both = [&work](regex_id a, regex_id b) {
    return a == work.text.any_body ? b : work.regex.intersection({a, b});
  };
  const auto narrow = [&](regex_id to) {
    out.sure = both(out.sure, to);
    out.reach = both(out.reach, to);
  };
  if (const json* pattern = find_word(work, node, "pattern")) {
    if (pattern->is_string())
      narrow(pattern_body(work, node, "pattern", pattern->get<std::string>()));
    else
      work.malformed(node, "pattern", "must be a string");
  }
  if (const json* format = find_word(work, node, "format")) {
    if (!format->is_string())
      work.malformed(node, "format", "must be a string");
    else if (const auto of_format = format_bodies(work, format->get<std::string>())) {
      out.sure = both(out.sure, of_format->sure);
      out.reach = both(out.reach, of_format->reach);
    }
  }
  const std::uint32_t min = minimum_word(work, node, "minLength");
  const std::uint32_t max = maximum_word(work, node, "maxLength");
  if (min > max) return {work.regex.nothing(), work.regex.nothing()};
  if (min > 0 || max != unbounded) narrow(work.regex.repeat(work.text.character, min, max));
  return out;
}

}  // namespace troupe::json_schema
