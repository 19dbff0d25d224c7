// Filters on one value.
#include "runtime/chat_template/filters.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/chat_template/characters.hpp"
#include "runtime/chat_template/percent_format.hpp"

namespace troupe::jinja {
namespace {

using v = const value&;
using a = const arguments&;

value trim(budget& spent, v input, a given) {
  const auto* drop = given.text(spent, 0);
  const auto text = to_text(spent, input);
  return value::of(std::string(strip(text, side::both, drop ? std::string_view(*drop) : std::string_view())));
}

value replace(budget& spent, v input, a given) {
  return call_method(spent, value::of(to_text(spent, input)), "replace", given);
}

value length(budget& spent, v input, a) {
  if (const auto* text = input.string()) return value::of(static_cast<std::int64_t>(count_characters(*text)));
  if (input.items() || input.entries() || input.is_undefined())
    return value::of(static_cast<std::int64_t>(input.size()));
  return spent.fail(fmt::format("'{}' has no length", input.type_name()));
}

value preset(budget&, v input, a given) {
  const auto* otherwise = given.find(0);
  const bool missing = input.is_undefined() || (given.truth(1, false) && !input.truthy());
  if (!missing) return input;
  return otherwise ? *otherwise : value::of(std::string());
}

value indent(budget& spent, v input, a given) {
  const auto* width = given.find(0);
  std::string margin(4, ' ');
  if (width && width->string()) {
    margin = *width->string();
  } else if (width) {
    margin.assign(static_cast<std::size_t>(std::clamp<std::int64_t>(width->integer().value_or(4), 0, 1000)),
                  ' ');
  }
  const bool blank = given.truth(2, false);
  const auto text = to_text(spent, input);
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  if (!spent.check_length(text.size() + lines * margin.size()) || !spent.spend(lines * margin.size()))
    return {};
  std::string out = given.truth(1, false) ? margin : std::string();
  for (std::size_t position = 0; position <= text.size();) {
    const auto end = std::min(text.find('\n', position), text.size());
    if (position > 0) out += '\n';
    if (position > 0 && (blank || end > position)) out += margin;
    out.append(text, position, end - position);
    position = end + 1;
  }
  return value::of(std::move(out));
}

value escape(budget& spent, v input, a) {
  std::string out;
  for (const char c : to_text(spent, input)) {
    static constexpr std::string_view from = "&<>'\"";
    static constexpr const char* to[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    const auto place = from.find(c);
    if (place == std::string_view::npos) {
      out += c;
    } else {
      out += to[place];
    }
  }
  return value::of(std::move(out));
}

value dump_json(budget& spent, v input, a given) {
  json_style style;
  style.ascii = given.truth(0, false);
  const auto* indent = given.find(1);
  if (indent && indent->string()) {
    style.margin = *indent->string();
  } else if (const auto width = given.integer(spent, 1)) {
    style.margin = std::string(static_cast<std::size_t>(std::clamp<std::int64_t>(*width, 0, 64)), ' ');
  }
  style.sort_keys = given.truth(3, false);
  if (style.margin) style.item_separator = ",";
  if (const auto* separators = given.find(2); separators && !separators->is_none()) {
    const auto* pair = separators->items();
    if (!pair || pair->size() != 2 || !pair->front().string() || !pair->back().string()) {
      return spent.fail("tojson: separators must be two strings");
    }
    style.item_separator = *pair->front().string();
    style.key_separator = *pair->back().string();
  }
  return value::of(to_json(spent, input, style));
}

// 'a %s'|format('b'): the arguments that % takes as a tuple or a mapping.
value format(budget& spent, v input, a given) {
  const auto text = to_text(spent, input);
  if (!given.named.empty()) {
    if (!given.positional.empty()) return spent.fail("format takes either values or named values");
    return percent_format(
        spent, text, contain(spent, dict(std::vector<dict::entry>(given.named.begin(), given.named.end()))));
  }
  list values;
  for (const auto& one : given.positional) values.push_back(*one);
  return percent_format(spent, text, contain(spent, std::move(values), true));
}

value center(budget& spent, v input, a given) {
  arguments width;
  width.positional.emplace_back(value::of(given.integer(spent, 0).value_or(80)));
  return call_method(spent, value::of(to_text(spent, input)), "center", std::move(width));
}

// Runs of letters, digits and underscores.
value count_words(budget& spent, v input, a) {
  std::int64_t words = 0;
  bool inside = false;
  for_each_character(to_text(spent, input), [&](std::string_view, std::uint32_t code_point) {
    const bool belongs = is_word_character(code_point);
    words += belongs && !inside ? 1 : 0;
    inside = belongs;
  });
  return value::of(words);
}

// Cut to `length` characters with its end, between words unless asked, where it is longer by more than
// `leeway`.
value truncate(budget& spent, v input, a given) {
  const auto text = to_text(spent, input);
  const auto length = given.integer(spent, 0).value_or(255);
  const auto* given_end = given.text(spent, 2);
  const std::string end = given_end ? *given_end : "...";
  const auto leeway = given.integer(spent, 3).value_or(5);
  const auto all = characters(text);
  const auto size = static_cast<std::int64_t>(all.size());
  const auto end_size = static_cast<std::int64_t>(count_characters(end));
  if (length < end_size || leeway < 0) return spent.fail("truncate: the length must hold the end");
  if (size <= length || size - length <= leeway) return value::of(text);
  std::string out;
  for (std::int64_t at = 0; at < length - end_size; ++at) out += all[static_cast<std::size_t>(at)];
  if (!given.truth(1, false)) out.resize(std::min(out.size(), out.rfind(' ')));
  return value::of(out + end);
}

value named_attribute(budget& spent, v input, a given) {
  const auto* name = given.text(spent, 0);
  if (!name) return spent.fail("attr takes a name");
  // Members of a mapping are none of its attributes.
  return input.entries() ? value::missing(*name) : attribute(spent, input, *name);
}

template <std::string (*Change)(std::string_view)>
value changed(budget& spent, v input, a) {
  return value::of(Change(to_text(spent, input)));
}

}  // namespace

const filters& text_filters() {
  static const filters all = {
      {"trim", {trim, "chars"}},
      {"replace", {replace, "old new count"}},
      {"length", {length}},
      {"count", {length}},
      {"default", {preset, "default_value boolean"}},
      {"d", {preset, "default_value boolean"}},
      {"indent", {indent, "width first blank"}},
      {"escape", {escape}},
      {"e", {escape}},
      {"tojson", {dump_json, "ensure_ascii indent separators sort_keys"}},
      {"format", {format, "..."}},
      {"center", {center, "width"}},
      {"wordcount", {count_words}},
      {"truncate", {truncate, "length killwords end leeway"}},
      {"attr", {named_attribute, "name"}},
      {"upper", {changed<to_upper>}},
      {"lower", {changed<to_lower>}},
      {"capitalize", {changed<capitalize>}},
      {"title", {[](budget& spent, v input, a) { return value::of(title(to_text(spent, input), true)); }}},
      {"string", {[](budget& spent, v input, a) { return value::of(to_text(spent, input)); }}},
      {"safe", {[](budget&, v input, a) { return input; }}}};
  return all;
}

}  // namespace troupe::jinja
