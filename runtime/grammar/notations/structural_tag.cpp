#include "runtime/grammar/notations/structural_tag.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace troupe::grammar {

namespace {

result<void> check(const structural_tags& spec, const grammar_limits& limits) {
  if (spec.triggers.empty())
    return fail(error_code::invalid_argument, "structural tags: no triggers", "triggers");
  // Each tag is held against each trigger.
  if (spec.tags.size() > limits.max_links / spec.triggers.size())
    return tl::unexpected(exceeded("tags times triggers", limits.max_links, "max_links"));
  std::size_t bytes = 0;
  for (const std::string& trigger : spec.triggers) {
    if (trigger.empty())
      return fail(error_code::invalid_argument, "structural tags: an empty trigger", "triggers");
    const auto starts = [&](const structural_tag& tag) { return tag.begin.starts_with(trigger); };
    if (std::ranges::none_of(spec.tags, starts))
      return fail(error_code::invalid_argument,
                  "structural tags: no tag begins with the trigger '" + trigger + "'", "triggers");
    bytes += trigger.size();
  }
  for (const structural_tag& tag : spec.tags) {
    const auto starts = [&](const std::string& trigger) { return tag.begin.starts_with(trigger); };
    if (std::ranges::none_of(spec.triggers, starts))
      return fail(error_code::invalid_argument, "structural tags: '" + tag.begin + "' begins with no trigger",
                  "begin");
    bytes += tag.begin.size() + tag.end.size();
  }
  if (bytes > limits.max_source_bytes)
    return tl::unexpected(exceeded("bytes of tags", limits.max_source_bytes, "max_source_bytes"));
  return {};
}

}  // namespace

regex_id text_up_to(regex_store& regex, regex_id mark, regex_id marks) {
  const regex_id any = regex.any_bytes(), with_mark = regex.concat({any, marks, any});
  // Its last byte is the first that completes any.
  const regex_id beyond = regex.concat({with_mark, regex.bytes(byte_set::all()), any});
  return regex.difference(regex.concat({regex.any_text(), mark}), beyond);
}

result<symbol_id> structural_tag_symbol(grammar_builder& builder, const structural_tags& spec) {
  if (auto checked = check(spec, builder.limits()); !checked) return tl::unexpected(checked.error());
  regex_store& regex = builder.regex();
  const std::set<std::string_view> triggers(spec.triggers.begin(), spec.triggers.end());
  const regex_id any = regex.any_bytes(), trigger = regex.one_of(spec.triggers);
  const regex_id with_trigger = regex.concat({any, trigger, any});
  const regex_id free = regex.difference(regex.any_text(), with_trigger);
  std::map<std::string_view, regex_id> firsts;
  for (const std::string_view start : triggers)
    firsts[start] = text_up_to(regex, regex.literal(start), trigger);
  std::vector<symbol_id> tags;
  for (const structural_tag& tag : spec.tags) {
    std::vector<regex_id> begins;
    for (const auto& [start, first] : firsts)
      if (tag.begin.starts_with(start))
        begins.push_back(
            regex.concat({first, regex.literal(std::string_view(tag.begin).substr(start.size()))}));
    tags.push_back(builder.sequence(
        {builder.lexeme(regex.alternation(begins), true), tag.content, builder.literal(tag.end, true)}));
  }
  const symbol_id one = builder.choice(tags), rest = builder.lexeme(free, true);
  if (builder.failure()) return tl::unexpected(*builder.failure());
  if (spec.stop_after_first) return spec.at_least_one ? one : builder.choice({one, rest});
  return builder.sequence({builder.repeat(one, spec.at_least_one ? 1 : 0, unbounded), rest});
}

}  // namespace troupe::grammar
