#include <utf8proc.h>

#include <algorithm>
#include <optional>
#include <string>

#include "runtime/chat_template/characters.hpp"
#include "runtime/chat_template/searching.hpp"
#include "runtime/chat_template/string_methods.hpp"

namespace troupe::jinja {
namespace {

using a = const arguments&;
using s = const std::string&;

// The part of a text that a method is to look at, by its second and third argument; nothing where it begins
// behind the text's end.
struct part {
  std::size_t begin = 0;
  std::string_view text;
};
std::optional<part> part_of(budget& spent, s self, a given) {
  const auto start = given.integer(spent, 1), stop = given.integer(spent, 2);
  if (!start && !stop) return part{0, self};
  const auto all = characters(self);
  const auto count = static_cast<std::int64_t>(all.size());
  const auto clip = [count](std::int64_t place) {
    return std::max<std::int64_t>(place < 0 ? place + count : place, 0);
  };
  const auto first = clip(start.value_or(0)), last = std::min(clip(stop.value_or(count)), count);
  if (first > count || first > last) return std::nullopt;
  const auto offset = [&](std::int64_t place) {
    return place == count
               ? self.size()
               : static_cast<std::size_t>(all[static_cast<std::size_t>(place)].data() - self.data());
  };
  const auto begin = offset(first);
  return part{begin, std::string_view(self).substr(begin, offset(last) - begin)};
}

// startswith() and endswith() take one string or a tuple of them.
value has_affix(budget& spent, s self, a given, bool front) {
  const auto* wanted = given.find(0);
  const auto within = part_of(spent, self, given);
  const auto matches = [&](const value& one) {
    return one.string() && within && spent.spend(std::min(one.size(), within->text.size())) &&
           (front ? within->text.starts_with(*one.string()) : within->text.ends_with(*one.string()));
  };
  if (wanted && wanted->string()) return value::truth(matches(*wanted));
  if (!wanted || !wanted->items()) return spent.fail("startswith() and endswith() take a string");
  return value::truth(std::any_of(wanted->items()->begin(), wanted->items()->end(), matches));
}

value find(budget& spent, s self, a given, bool last) {
  const auto* wanted = given.text(spent, 0);
  if (!wanted) return spent.fail("find() takes a string");
  const auto within = part_of(spent, self, given);
  if (!within) return value::of(std::int64_t{-1});
  const auto found = last ? find_last(within->text, *wanted) : find_first(within->text, *wanted);
  if (found == std::string::npos) return value::of(std::int64_t{-1});
  return value::of(
      static_cast<std::int64_t>(count_characters(std::string_view(self).substr(0, within->begin + found))));
}

value index(budget& spent, s self, a given, bool last) {
  auto found = find(spent, self, given, last);
  return !spent.failed() && *found.integer() < 0 ? spent.fail("the text does not hold the string") : found;
}

value count(budget& spent, s self, a given) {
  const auto* wanted = given.text(spent, 0);
  if (!wanted) return spent.fail("count() takes a string");
  const auto within = part_of(spent, self, given);
  if (!within) return value::of(std::int64_t{0});
  const auto text = within->text;
  if (wanted->empty()) return value::of(static_cast<std::int64_t>(count_characters(text)) + 1);
  return value::of(static_cast<std::int64_t>(count_of(text, *wanted)));
}

bool all_characters(s self, bool (*is)(std::uint32_t)) {
  bool all = !self.empty();
  for_each_character(self, [&](std::string_view, std::uint32_t code_point) { all = all && is(code_point); });
  return all;
}

bool is_decimal(std::uint32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_ND;
}

bool is_alphanumeric(std::uint32_t c) { return is_alphabetic(c) || is_decimal(c); }

template <bool (*Is)(std::uint32_t)>
value all_are(budget&, s self, a) {
  return value::truth(all_characters(self, Is));
}

// Some letter has a case, and all that have one have this.
template <std::string (*Change)(std::string_view)>
value has_case(budget&, s self, a) {
  return value::truth(self == Change(self) && to_upper(self) != to_lower(self));
}

}  // namespace

const string_methods& asking_methods() {
  static const string_methods all = {
      {"startswith", {[](budget& b, s self, a given) { return has_affix(b, self, given, true); }, "- - -"}},
      {"endswith", {[](budget& b, s self, a given) { return has_affix(b, self, given, false); }, "- - -"}},
      {"find", {[](budget& b, s self, a given) { return find(b, self, given, false); }, "- - -"}},
      {"rfind", {[](budget& b, s self, a given) { return find(b, self, given, true); }, "- - -"}},
      {"index", {[](budget& b, s self, a given) { return index(b, self, given, false); }, "- - -"}},
      {"rindex", {[](budget& b, s self, a given) { return index(b, self, given, true); }, "- - -"}},
      {"count", {count, "- - -"}},
      {"isdigit", {all_are<is_decimal>}},
      {"isdecimal", {all_are<is_decimal>}},
      {"isalpha", {all_are<is_alphabetic>}},
      {"isalnum", {all_are<is_alphanumeric>}},
      {"isspace", {all_are<is_white_space>}},
      {"isupper", {has_case<to_upper>}},
      {"islower", {has_case<to_lower>}}};
  return all;
}

}  // namespace troupe::jinja
