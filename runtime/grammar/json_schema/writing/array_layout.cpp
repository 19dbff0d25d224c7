#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "runtime/grammar/json_schema/words/listed_values.hpp"
#include "runtime/grammar/json_schema/words/words.hpp"
#include "runtime/grammar/json_schema/writing/layout.hpp"

namespace troupe::json_schema {
namespace {

constexpr std::size_t max_distinct = 256;
constexpr std::size_t max_counts = 4;

// The different items that an array of such items may have; nothing where they cannot be named one by one.
std::optional<std::vector<term_id>> find_distinct(workspace& work, term_id items) {
  const auto values = listed_values(work, items);
  if (!values || !work.spend(values->size())) return std::nullopt;
  std::vector<term_id> out;
  std::unordered_set<std::string> seen;
  for (const json* value : *values) {
    if (value->is_structured() || seen.size() > max_distinct) return std::nullopt;
    std::string key = key_of(work, *value);
    if (work.failed()) return std::nullopt;
    if (seen.insert(std::move(key)).second) out.push_back(work.terms.all_of(items, work.terms.value(*value)));
  }
  return out;
}

bool lay_out_distinct(workspace& work, const array_set& of, array_layout& out) {
  if (!of.prefix.empty() || !of.counts.empty()) return false;
  auto known = work.distinct_items.find(static_cast<std::uint32_t>(of.items));
  if (known == work.distinct_items.end())
    known = work.distinct_items.emplace(static_cast<std::uint32_t>(of.items), find_distinct(work, of.items))
                .first;
  if (!known->second || !work.spend(1 + known->second->size() / 4)) return false;
  out.distinct = *known->second;
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
      if (!work.spend()) return;
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
  if (!work.spend(1 + weight(of))) return out;
  out.prefix = of.prefix;
  out.items = of.items;
  out.min = of.min;
  out.max = of.max;
  if (of.items == term_id::never) out.max = std::min(out.max, static_cast<std::uint32_t>(of.prefix.size()));
  if (of.unique != nullptr && out.max > 1 && !lay_out_distinct(work, of, out)) {
    work.refuse(*of.unique, "uniqueItems",
                fmt::format("can be enforced only where the items are an enum of at most {} scalar values",
                            max_distinct));
    return out;
  }
  if (!of.counts.empty()) lay_out_counts(work, of, out);
  return out;
}

}  // namespace troupe::json_schema
