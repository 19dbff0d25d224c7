#include <algorithm>
#include <map>
#include <utility>

#include "runtime/grammar/json_schema/writing/writer.hpp"

namespace troupe::json_schema {

using grammar::symbol_id;

symbol_id grammar_writer::object_of(const object_layout& of) {
  if (!work_.spend(of.named.size() + of.others.size())) return builder_.nothing();
  if (!of.others.empty() || !of.witnesses.empty()) builder_.note_open_names();
  const symbol_id members = work_.options.fixed_order ? in_fixed_order(of) : in_any_order(of);
  return builder_.sequence({builder_.literal("{"), members, builder_.literal("}")});
}

symbol_id grammar_writer::member(regex_id body, term_id values) {
  regex_store& regex = builder_.regex();
  if (body == regex.nothing() || !plan_.has_values(values)) return builder_.nothing();
  const symbol_id name = builder_.lexeme(regex.concat({quoted(regex, body), colon_}));
  return builder_.sequence({name, symbol_of(values)});
}

symbol_id grammar_writer::any_of(const std::vector<other_members>& choices) {
  std::vector<symbol_id> out;
  for (const other_members& each : choices) out.push_back(member(each.names, each.values));
  return builder_.choice(out);
}

symbol_id grammar_writer::in_any_order(const object_layout& of) {
  grammar::any_order members;
  for (const named_member& each : of.named)
    members.members.push_back(
        {member(builder_.regex().literal(spell(each.name)), each.values), each.required});
  for (const auto& choices : of.witnesses) members.members.push_back({any_of(choices), true});
  members.separator = comma_;
  if (const symbol_id others = any_of(of.others); others != builder_.nothing()) members.other = others;
  members.min = of.min;
  members.max = of.max;
  return builder_.any_order_of(std::move(members));
}

// From the end: what may follow when `written` members stand before place i, counted as far as it matters.
symbol_id grammar_writer::in_fixed_order(const object_layout& of) {
  std::vector<std::pair<symbol_id, bool>> places;
  for (const named_member& each : of.named)
    places.emplace_back(member(builder_.regex().literal(spell(each.name)), each.values), each.required);
  for (const auto& choices : of.witnesses) places.emplace_back(any_of(choices), true);
  const symbol_id other = any_of(of.others);
  const bool is_counted = of.min > 1 || of.max != unbounded;
  const auto all = static_cast<std::uint32_t>(places.size());
  const std::uint32_t most = is_counted ? std::min(all, of.max) : 1;
  const auto after = [&](std::uint32_t written, symbol_id what) {
    return written == 0 ? what : builder_.sequence({comma_, what});
  };
  std::vector<symbol_id> rest;
  for (std::uint32_t written = 0; written <= most; ++written) {
    const std::uint32_t min = of.min > written ? of.min - written : 0;
    const std::uint32_t max = of.max == unbounded ? unbounded : of.max - written;
    rest.push_back(written == 0 ? builder_.list(other, comma_, min, max)
                                : builder_.repeat(builder_.sequence({comma_, other}), min, max));
  }
  for (std::size_t i = places.size(); i-- > 0;) {
    if (!work_.spend(most + 1)) break;
    std::vector<symbol_id> before;
    for (std::uint32_t written = 0; written <= most; ++written) {
      const std::uint32_t next = is_counted ? written + 1 : 1;
      std::vector<symbol_id> ways;
      if (!places[i].second) ways.push_back(rest[written]);
      if (next <= most) ways.push_back(builder_.sequence({after(written, places[i].first), rest[next]}));
      before.push_back(builder_.choice(ways));
    }
    rest = std::move(before);
  }
  return rest.front();
}

}  // namespace troupe::json_schema
