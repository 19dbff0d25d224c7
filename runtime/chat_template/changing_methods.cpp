#include <algorithm>
#include <string>
#include <utility>

#include "runtime/chat_template/characters.hpp"
#include "runtime/chat_template/searching.hpp"
#include "runtime/chat_template/string_methods.hpp"

namespace troupe::jinja {
namespace {

using a = const arguments&;
using s = const std::string&;

value stripped(budget& spent, s self, a given, side where) {
  const auto* drop = given.text(spent, 0);
  return value::of(std::string(strip(self, where, drop ? std::string_view(*drop) : std::string_view())));
}

value replace(budget& spent, s self, a given) {
  const auto* from = given.text(spent, 0);
  const auto* to = given.text(spent, 1);
  if (!from || !to) return spent.fail("replace() takes two strings");
  const auto most = given.integer(spent, 2).value_or(-1);
  auto places = from->empty() ? count_characters(self) + 1 : count_of(self, *from);
  if (most >= 0) places = std::min(places, static_cast<std::size_t>(most));
  if (!spent.check_length(self.size() - places * from->size() + places * to->size())) return {};
  auto out = replace_all(self, *from, *to, most);
  spent.spend(out.size());
  return value::of(std::move(out));
}

value join(budget& spent, s self, a given) {
  const auto* items = given.find(0);
  if (!items) return spent.fail("join() takes a list");
  std::string out;
  bool first = true;
  const auto all = iterate(spent, *items);
  for (const auto& item : *all) {
    if (!item.string()) return spent.fail("join() takes strings");
    if (!spent.spend(item.size() + self.size()) ||
        !spent.check_length(out.size() + item.size() + self.size()))
      return {};
    if (!std::exchange(first, false)) out += self;
    out += *item.string();
  }
  return value::of(std::move(out));
}

value without_affix(budget& spent, s self, a given, bool front) {
  const auto* affix = given.text(spent, 0);
  if (!affix) return spent.fail("an argument must be a string");
  if (front && self.starts_with(*affix)) return value::of(self.substr(affix->size()));
  if (!front && self.ends_with(*affix)) return value::of(self.substr(0, self.size() - affix->size()));
  return value::of(self);
}

// ljust(), rjust(), center() and zfill(): fill on both sides. `left`: of what is missing.
value padded(budget& spent, s self, a given, std::size_t (*left)(std::size_t missing, std::size_t width)) {
  const auto width = given.integer(spent, 0);
  const auto* fill = given.text(spent, 1);
  if (!width || (fill && count_characters(*fill) != 1))
    return spent.fail("padding takes a width and one character");
  const auto size = count_characters(self);
  if (*width <= static_cast<std::int64_t>(size)) return value::of(self);
  const auto wanted = static_cast<std::size_t>(*width);
  const auto one = fill ? *fill : std::string(" ");
  if (!spent.check_length(wanted) || !spent.check_length(self.size() + (wanted - size) * one.size()) ||
      !spent.spend(wanted * one.size()))
    return {};
  const auto before = left(wanted - size, wanted);
  std::string out;
  for (std::size_t done = 0; done < before; ++done) out += one;
  out += self;
  for (auto done = before; done < wanted - size; ++done) out += one;
  return value::of(std::move(out));
}

value zfill(budget& spent, s self, a given) {
  const auto width = given.integer(spent, 0).value_or(0);
  if (width <= static_cast<std::int64_t>(count_characters(self))) return value::of(self);
  const bool sign = !self.empty() && (self[0] == '+' || self[0] == '-');
  arguments padding;
  padding.positional = {value::of(width - (sign ? 1 : 0)), value::of(std::string("0"))};
  const auto digits = padded(spent, self.substr(sign ? 1 : 0), padding,
                             [](std::size_t missing, std::size_t) { return missing; });
  if (spent.failed()) return {};
  return value::of((sign ? self.substr(0, 1) : std::string()) + *digits.string());
}

template <std::string (*Change)(std::string_view)>
value changed(budget&, s self, a) {
  return value::of(Change(self));
}

}  // namespace

const string_methods& changing_methods() {
  static const string_methods all = {
      {"strip", {[](budget& b, s self, a given) { return stripped(b, self, given, side::both); }, "-"}},
      {"lstrip", {[](budget& b, s self, a given) { return stripped(b, self, given, side::left); }, "-"}},
      {"rstrip", {[](budget& b, s self, a given) { return stripped(b, self, given, side::right); }, "-"}},
      {"upper", {changed<to_upper>}},
      {"lower", {changed<to_lower>}},
      {"casefold", {changed<fold_case>}},
      {"capitalize", {changed<capitalize>}},
      {"title", {[](budget&, s self, a) { return value::of(title(self, false)); }}},
      {"removeprefix", {[](budget& b, s self, a given) { return without_affix(b, self, given, true); }, "-"}},
      {"removesuffix",
       {[](budget& b, s self, a given) { return without_affix(b, self, given, false); }, "-"}},
      {"replace", {replace, "- - count"}},
      {"join", {join, "-"}},
      {"ljust",
       {[](budget& b, s self, a given) {
          return padded(b, self, given, [](std::size_t, std::size_t) -> std::size_t { return 0; });
        },
        "- -"}},
      {"rjust",
       {[](budget& b, s self, a given) {
          return padded(b, self, given, [](std::size_t missing, std::size_t) { return missing; });
        },
        "- -"}},
      {"center",
       {[](budget& b, s self, a given) {
          // Python puts the odd one to the left where the width is odd, too.
          return padded(b, self, given, [](std::size_t missing, std::size_t width) {
            return missing / 2 + (missing & width & 1U);
          });
        },
        "- -"}},
      {"zfill", {zfill, "-"}}};
  return all;
}

}  // namespace troupe::jinja
