// Filters on one value.
#include "runtime/chat_template/filters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "runtime/chat_template/characters.hpp"

namespace troupe::jinja {
namespace {

using v = const value&;
using a = const arguments&;

value trim(budget& spent, v input, a given) {
  const auto* drop = given.text(spent, 0, "chars");
  const auto text = to_text(spent, input);
  return value::of(std::string(strip(text, side::both, drop ? std::string_view(*drop) : std::string_view())));
}

value replace(budget& spent, v input, a given) {
  arguments whole;
  for (std::size_t place = 0; place < 3; ++place) {
    static constexpr std::string_view names[] = {"old", "new", "count"};
    if (const auto* one = given.find(place, names[place])) whole.positional.push_back(*one);
  }
  return call_method(spent, value::of(to_text(spent, input)), "replace", whole);
}

value length(budget& spent, v input, a) {
  if (const auto* text = input.string()) return value::of(static_cast<std::int64_t>(count_characters(*text)));
  if (input.items() || input.entries() || input.is_undefined())
    return value::of(static_cast<std::int64_t>(input.size()));
  return spent.fail(fmt::format("'{}' has no length", input.type_name()));
}

value preset(budget&, v input, a given) {
  const auto* otherwise = given.find(0, "default_value");
  const bool missing = input.is_undefined() || (given.truth(1, "boolean", false) && !input.truthy());
  if (!missing) return input;
  return otherwise ? *otherwise : value::of(std::string());
}

value to_integer(budget& spent, v input, a given) {
  const auto* otherwise = given.find(0, "default");
  const auto fallback = otherwise ? *otherwise : value::of(std::int64_t{0});
  if (const auto whole = input.integer()) return value::of(*whole);
  double number = 0;
  if (const auto* text = input.string()) {
    const auto digits = strip(*text, side::both);
    std::int64_t whole = 0;
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), whole);
    if (failure == std::errc() && end == digits.data() + digits.size()) return value::of(whole);
    const auto [real_end, real_failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (real_failure != std::errc() || real_end != digits.data() + digits.size()) return fallback;
  } else if (const auto* real = input.get<double>()) {
    number = *real;
  } else {
    return fallback;
  }
  if (!(std::abs(number) < 9e18)) return spent.fail("a number gets too large");
  return value::of(static_cast<std::int64_t>(number));
}

value to_real(budget&, v input, a given) {
  if (const auto number = input.number()) return value(value::variant(*number));
  double number = 0;
  if (const auto* text = input.string()) {
    const auto digits = strip(*text, side::both);
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (failure == std::errc() && end == digits.data() + digits.size()) return value(value::variant(number));
  }
  const auto* otherwise = given.find(0, "default");
  return otherwise ? *otherwise : value(value::variant(0.0));
}

value absolute(budget& spent, v input, a) {
  if (const auto whole = input.integer()) {
    return *whole == INT64_MIN ? spent.fail("a number gets too large") : value::of(std::abs(*whole));
  }
  const auto number = input.number();
  return number ? value(value::variant(std::abs(*number))) : spent.fail("abs takes a number");
}

value indent(budget& spent, v input, a given) {
  const auto* width = given.find(0, "width");
  std::string margin(4, ' ');
  if (width && width->string()) {
    margin = *width->string();
  } else if (width) {
    margin.assign(static_cast<std::size_t>(std::clamp<std::int64_t>(width->integer().value_or(4), 0, 1000)),
                  ' ');
  }
  const bool blank = given.truth(2, "blank", false);
  const auto text = to_text(spent, input);
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  if (!spent.check_length(text.size() + lines * margin.size()) || !spent.spend(lines * margin.size()))
    return {};
  std::string out = given.truth(1, "first", false) ? margin : std::string();
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
  if (given.truth(0, "ensure_ascii", false))
    return spent.fail("tojson: ensure_ascii is not supported", error_code::unsupported);
  style.indent = given.integer(spent, 1, "indent");
  style.sort_keys = given.truth(3, "sort_keys", false);
  if (style.indent) style.item_separator = ",";
  if (const auto* separators = given.find(2, "separators"); separators && !separators->is_none()) {
    const auto* pair = separators->items();
    if (!pair || pair->size() != 2 || !pair->front().string() || !pair->back().string()) {
      return spent.fail("tojson: separators must be two strings");
    }
    style.item_separator = *pair->front().string();
    style.key_separator = *pair->back().string();
  }
  return value::of(to_json(spent, input, style));
}

template <std::string (*Change)(std::string_view)>
value changed(budget& spent, v input, a) {
  return value::of(Change(to_text(spent, input)));
}

}  // namespace

const filters& text_filters() {
  static const filters all = {
      {"trim", trim},
      {"replace", replace},
      {"length", length},
      {"count", length},
      {"default", preset},
      {"d", preset},
      {"int", to_integer},
      {"float", to_real},
      {"abs", absolute},
      {"indent", indent},
      {"escape", escape},
      {"e", escape},
      {"tojson", dump_json},
      {"upper", changed<to_upper>},
      {"lower", changed<to_lower>},
      {"capitalize", changed<capitalize>},
      {"title", [](budget& spent, v input, a) { return value::of(title(to_text(spent, input), true)); }},
      {"string", [](budget& spent, v input, a) { return value::of(to_text(spent, input)); }},
      {"safe", [](budget&, v input, a) { return input; }}};
  return all;
}

}  // namespace troupe::jinja
