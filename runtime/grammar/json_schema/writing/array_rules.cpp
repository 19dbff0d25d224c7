#include <algorithm>
#include <map>
#include <utility>

#include "runtime/grammar/json_schema/writing/writer.hpp"

namespace troupe::json_schema {

using grammar::symbol_id;

namespace {
constexpr std::size_t max_count_states = 4096;
}

symbol_id grammar_writer::array_of(const array_layout& of) {
  if (!work_.spend(of.prefix.size())) return builder_.nothing();
  const symbol_id items = of.is_distinct      ? distinct_items(of)
                          : of.counts.empty() ? items_of(of)
                                              : counted_items(of);
  return builder_.sequence({builder_.literal("["), items, builder_.literal("]")});
}

symbol_id grammar_writer::items_of(const array_layout& of) {
  const std::size_t prefix = of.prefix.size();
  const symbol_id item = symbol_of(of.items);
  if (prefix == 0) return builder_.list(item, comma_, of.min, of.max);
  // From the end: what may follow when i items are written.
  const auto written = static_cast<std::uint32_t>(prefix);
  symbol_id rest = builder_.nothing();
  if (written <= of.max)
    rest = builder_.repeat(builder_.sequence({comma_, item}), of.min > written ? of.min - written : 0,
                           of.max == unbounded ? unbounded : of.max - written);
  for (std::size_t i = prefix; i-- > 0;) {
    symbol_id more = builder_.sequence({symbol_of(of.prefix[i]), rest});
    if (i > 0) more = builder_.sequence({comma_, more});
    if (i >= of.max) more = builder_.nothing();
    rest = i >= of.min ? builder_.optional(more) : more;
  }
  return rest;
}

symbol_id grammar_writer::distinct_items(const array_layout& of) {
  grammar::any_order items;
  for (const term_id id : of.distinct) items.members.push_back({symbol_of(id), false});
  items.separator = comma_;
  items.min = of.min;
  items.max = of.max;
  return builder_.any_order_of(std::move(items));
}

// A state for each number of items written and counted, each as far as it still matters.
symbol_id grammar_writer::counted_items(const array_layout& of) {
  const std::size_t last_choice = of.choices.size() - 1;
  std::vector<std::uint32_t> most{
      std::max({of.max == unbounded ? of.min : of.max, static_cast<std::uint32_t>(last_choice), 1U})};
  for (const item_count& count : of.counts) most.push_back(count.max == unbounded ? count.min : count.max);
  double states_needed = 1;
  for (const std::uint32_t each : most) states_needed *= each + 1.0;
  if (states_needed > max_count_states) {
    work_.refuse(*of.counts.front().origin, "contains",
                 "needs too many states together with the array's bounds");
    return builder_.nothing();
  }
  std::map<std::vector<std::uint32_t>, symbol_id> states;  // by items written, then counted
  std::vector<std::vector<std::uint32_t>> open;
  const auto state = [&](std::vector<std::uint32_t> key) {
    for (std::size_t k = 0; k < key.size(); ++k) key[k] = std::min(key[k], most[k]);
    const auto [known, is_new] = states.try_emplace(key);
    if (is_new) {
      known->second = builder_.forward();
      open.push_back(std::move(key));
    }
    return known->second;
  };
  const symbol_id start = state(std::vector<std::uint32_t>(most.size(), 0));
  while (!open.empty() && work_.spend(of.choices.size())) {
    const std::vector<std::uint32_t> at = std::move(open.back());
    open.pop_back();
    std::vector<symbol_id> ways;
    bool may_end = at[0] >= of.min;
    for (std::size_t k = 0; k < of.counts.size(); ++k) may_end = may_end && at[k + 1] >= of.counts[k].min;
    if (may_end) ways.push_back(builder_.empty());
    const auto& choices = of.choices[std::min<std::size_t>(at[0], last_choice)];
    const symbol_id separator = at[0] == 0 ? builder_.empty() : comma_;
    for (std::size_t mask = 0; mask < choices.size() && (of.max == unbounded || at[0] < of.max); ++mask) {
      auto next = at;
      ++next[0];
      bool fits = true;
      for (std::size_t k = 0; k < of.counts.size(); ++k) {
        if ((mask >> k & 1U) == 0) continue;
        fits = fits && ++next[k + 1] <= of.counts[k].max;
      }
      if (fits)
        ways.push_back(builder_.sequence({separator, symbol_of(choices[mask]), state(std::move(next))}));
    }
    builder_.define(states[at], builder_.choice(ways));
  }
  return start;
}

}  // namespace troupe::json_schema
