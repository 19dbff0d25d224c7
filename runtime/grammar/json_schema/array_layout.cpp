#include <algorithm>
#include <optional>

#include "runtime/grammar/json_schema/layout.hpp"
#include "runtime/grammar/json_schema/words.hpp"

namespace troupe::json_schema {
namespace {

constexpr std::size_t max_distinct = 256;
constexpr std::size_t max_counts = 4;

// The values that `of` names one by one: those of an enum or const in it, or null, true and false by type.
std::optional<std::vector<const json*>> listed_values(const workspace& work, term_id of) {
  static const json null_value = nullptr, yes = true, no = false;
  const term& known = work.terms[of];
  std::vector<const json*> out;
  if (known.what == term::kind::value) return std::vector{known.node};
  if (known.what == term::kind::schema) {
    if (const json* constant = find_word(*known.node, "const")) return std::vector{constant};
    if (const json* list = find_word(*known.node, "enum"); list != nullptr && list->is_array()) {
      for (const json& each : *list) out.push_back(&each);
      return out;
    }
    const json* type = find_word(*known.node, "type");
    if (type != nullptr && *type == "boolean") return std::vector{&yes, &no};
    if (type != nullptr && *type == "null") return std::vector{&null_value};
  }
  if (known.what == term::kind::all_of)
    for (const term_id operand : known.operands)
      if (auto found = listed_values(work, operand)) return found;
  return std::nullopt;
}

bool lay_out_distinct(workspace& work, const array_set& of, array_layout& out) {
  if (!of.prefix.empty() || !of.counts.empty()) return false;
  const auto values = listed_values(work, of.items);
  if (!values) return false;
  std::vector<const json*> kept;
  for (const json* value : *values) {
    if (value->is_structured() || kept.size() > max_distinct) return false;
    if (std::none_of(kept.begin(), kept.end(), [&](const json* other) { return *other == *value; }))
      kept.push_back(value);
  }
  for (const json* value : kept)
    out.distinct.push_back(work.terms.all_of(of.items, work.terms.value(*value)));
  out.is_distinct = true;
  return true;
}

void lay_out_counts(workspace& work, const array_set& of, array_layout& out) {
  if (of.counts.size() > max_counts) {
    work.refuse(*of.counts.front().origin, "contains", "cannot be enforced together with so many others");
    return;
  }
  out.counts = of.counts;
  std::size_t places = of.prefix.size();
  for (const item_count& count : of.counts) places = std::max<std::size_t>(places, count.from);
  for (std::size_t place = 0; place <= places; ++place) {
    const term_id here = place < of.prefix.size() ? of.prefix[place] : of.items;
    auto& choices = out.choices.emplace_back();
    for (std::size_t mask = 0; mask < std::size_t{1} << of.counts.size(); ++mask) {
      std::vector<term_id> terms{here};
      for (std::size_t k = 0; k < of.counts.size(); ++k) {
        const item_count& count = of.counts[k];
        const bool is_counted = (mask >> k & 1U) != 0;
        if (place < count.from && is_counted) terms.push_back(term_id::never);
        if (place < count.from) continue;
        if ((mask >> k & 1U) != 0)
          terms.push_back(count.items);
        else if (count.max != unbounded)
          terms.push_back(work.terms.negation(count.items));
      }
      choices.push_back(work.terms.all_of(terms));
    }
  }
}

}  // namespace

array_layout lay_out(workspace& work, const array_set& of) {
  array_layout out;
  out.prefix = of.prefix;
  out.items = of.items;
  out.min = of.min;
  out.max = of.max;
  if (of.items == term_id::never) out.max = std::min(out.max, static_cast<std::uint32_t>(of.prefix.size()));
  if (of.unique != nullptr && out.max > 1 && !lay_out_distinct(work, of, out)) {
    work.refuse(*of.unique, "uniqueItems",
                "can be enforced only where the items are an enum of scalar values");
    return out;
  }
  if (!of.counts.empty()) lay_out_counts(work, of, out);
  return out;
}

}  // namespace troupe::json_schema
