#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "runtime/chat_template/characters.hpp"
#include "runtime/chat_template/library.hpp"

namespace troupe::jinja {
namespace {

using method = value (*)(budget&, const std::string&, const arguments&);
using a = const arguments&;
using s = const std::string&;

value stripped(budget& spent, s self, a given, side where) {
  const auto* drop = given.text(spent, 0);
  return value::of(std::string(strip(self, where, drop ? std::string_view(*drop) : std::string_view())));
}

// str.split() without a separator: by runs of white space.
list words(std::string_view text, std::int64_t most) {
  list out;
  for (text = strip(text, side::left); !text.empty(); text = strip(text, side::left)) {
    std::size_t end = 0;
    while (most != 0 && end < text.size()) {
      const auto size = first_utf8_unit(text.substr(end)).size;
      if (is_white_space(code_point_of(text.substr(end, size)))) break;
      end += size;
    }
    if (most == 0) end = strip(text, side::right).size();
    if (most > 0) --most;
    out.push_back(value::of(std::string(text.substr(0, end))));
    text.remove_prefix(end);
  }
  return out;
}

value split(budget& spent, s self, a given) {
  const auto* separator = given.text(spent, 0, "sep");
  auto most = given.integer(spent, 1, "maxsplit").value_or(-1);
  if (!separator) return contain(spent, words(self, most));
  if (separator->empty()) return spent.fail("empty separator");
  list out;
  std::size_t position = 0;
  for (; most != 0; --most) {
    const auto found = self.find(*separator, position);
    if (found == std::string::npos) break;
    out.push_back(value::of(self.substr(position, found - position)));
    position = found + separator->size();
  }
  out.push_back(value::of(self.substr(position)));
  if (!spent.spend(16 * out.size())) return {};
  return contain(spent, std::move(out));
}

value rsplit(budget& spent, s self, a given) {
  const auto* separator = given.text(spent, 0, "sep");
  auto most = given.integer(spent, 1, "maxsplit").value_or(-1);
  if (!separator || separator->empty()) return spent.fail("rsplit() needs a separator");
  list out;
  auto end = self.size();
  for (; most != 0 && end >= separator->size(); --most) {
    const auto found = self.rfind(*separator, end - separator->size());
    if (found == std::string::npos) break;
    out.push_back(value::of(self.substr(found + separator->size(), end - found - separator->size())));
    end = found;
  }
  out.push_back(value::of(self.substr(0, end)));
  std::reverse(out.begin(), out.end());
  if (!spent.spend(16 * out.size())) return {};
  return contain(spent, std::move(out));
}

value splitlines(budget& spent, s self, a) {
  list out;
  for (std::size_t position = 0; position < self.size();) {
    const auto end = std::min(self.find_first_of("\n\r", position), self.size());
    out.push_back(value::of(self.substr(position, end - position)));
    position = end + (self.compare(end, 2, "\r\n") == 0 ? 2 : 1);
  }
  if (!spent.spend(16 * out.size())) return {};
  return contain(spent, std::move(out));
}

// startswith() and endswith() take one string or a tuple of them.
value has_affix(budget& spent, s self, a given, bool front) {
  const auto* wanted = given.find(0);
  const auto matches = [&](const value& one) {
    return one.string() && (front ? self.starts_with(*one.string()) : self.ends_with(*one.string()));
  };
  if (wanted && wanted->string()) return value::truth(matches(*wanted));
  if (!wanted || !wanted->items()) return spent.fail("startswith() and endswith() take a string");
  return value::truth(std::any_of(wanted->items()->begin(), wanted->items()->end(), matches));
}

value replace(budget& spent, s self, a given) {
  const auto* from = given.text(spent, 0, "old");
  const auto* to = given.text(spent, 1, "new");
  if (!from || !to) return spent.fail("replace() takes two strings");
  const auto places = from->empty() ? self.size() + 1 : self.size() / from->size();
  if (!spent.check_length(self.size() + (to->empty() ? 0 : places * to->size()))) return {};
  auto out = replace_all(self, *from, *to, given.integer(spent, 2, "count").value_or(-1));
  spent.spend(out.size());
  return value::of(std::move(out));
}

value find(budget& spent, s self, a given, bool last) {
  const auto* wanted = given.text(spent, 0);
  if (!wanted) return spent.fail("find() takes a string");
  const auto found = last ? self.rfind(*wanted) : self.find(*wanted);
  if (found == std::string::npos) return value::of(std::int64_t{-1});
  return value::of(static_cast<std::int64_t>(count_characters(std::string_view(self).substr(0, found))));
}

value count(budget& spent, s self, a given) {
  const auto* wanted = given.text(spent, 0);
  if (!wanted || wanted->empty()) return spent.fail("count() takes a string that is not empty");
  std::int64_t times = 0;
  for (auto at = self.find(*wanted); at != std::string::npos; at = self.find(*wanted, at + wanted->size()))
    ++times;
  return value::of(times);
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

bool all_characters(s self, bool (*is)(std::uint32_t)) {
  bool all = !self.empty();
  for_each_character(self, [&](std::string_view, std::uint32_t code_point) { all = all && is(code_point); });
  return all;
}

const std::map<std::string, method, std::less<>>& string_methods() {
  static const std::map<std::string, method, std::less<>> all = {
      {"strip", [](budget& b, s self, a given) { return stripped(b, self, given, side::both); }},
      {"lstrip", [](budget& b, s self, a given) { return stripped(b, self, given, side::left); }},
      {"rstrip", [](budget& b, s self, a given) { return stripped(b, self, given, side::right); }},
      {"upper", [](budget&, s self, a) { return value::of(to_upper(self)); }},
      {"lower", [](budget&, s self, a) { return value::of(to_lower(self)); }},
      {"title", [](budget&, s self, a) { return value::of(title(self, false)); }},
      {"capitalize", [](budget&, s self, a) { return value::of(capitalize(self)); }},
      {"split", split},
      {"rsplit", rsplit},
      {"splitlines", splitlines},
      {"startswith", [](budget& b, s self, a given) { return has_affix(b, self, given, true); }},
      {"endswith", [](budget& b, s self, a given) { return has_affix(b, self, given, false); }},
      {"removeprefix", [](budget& b, s self, a given) { return without_affix(b, self, given, true); }},
      {"removesuffix", [](budget& b, s self, a given) { return without_affix(b, self, given, false); }},
      {"replace", replace},
      {"find", [](budget& b, s self, a given) { return find(b, self, given, false); }},
      {"rfind", [](budget& b, s self, a given) { return find(b, self, given, true); }},
      {"count", count},
      {"join", join},
      {"isdigit",
       [](budget&, s self, a) {
         return value::truth(all_characters(self, [](std::uint32_t c) { return c >= '0' && c <= '9'; }));
       }},
      {"isspace", [](budget&, s self, a) { return value::truth(all_characters(self, is_white_space)); }}};
  return all;
}

value mapping_method(budget& spent, const dict& self, std::string_view name, a given) {
  if (name == "get") {
    const auto* wanted = given.find(0);
    const auto key = wanted ? key_of(*wanted) : std::nullopt;
    const auto* found = key ? self.find(*key) : nullptr;
    const auto* preset = given.find(1);
    return found ? *found : preset ? *preset : value::nothing();
  }
  list out;
  if (!spent.spend(16 * self.entries().size())) return {};
  for (const auto& [key, item] : self.entries()) {
    if (name == "items") {
      out.push_back(contain(spent, list{value_of(key), item}, true));
    } else {
      out.push_back(name == "keys" ? value_of(key) : item);
    }
  }
  return contain(spent, std::move(out));
}

value list_method(budget& spent, const value& self, std::string_view name, a given) {
  const auto* wanted = given.find(0);
  if (!wanted) return spent.fail(fmt::format("{}() takes an argument", name));
  std::int64_t times = 0;
  for (std::size_t at = 0; at < self.size() && spent.spend(); ++at) {
    if (!equal(spent, (*self.items())[at], *wanted)) continue;
    if (name == "index") return value::of(static_cast<std::int64_t>(at));
    ++times;
  }
  return name == "index" ? spent.fail("the list does not hold the item") : value::of(times);
}

}  // namespace

value call_method(budget& spent, const value& self, std::string_view name, const arguments& given) {
  if (!spent.spend(self.string() ? 4 * self.size() : 0)) return {};
  if (const auto* text = self.string()) {
    const auto found = string_methods().find(name);
    if (found != string_methods().end()) return found->second(spent, *text, given);
  }
  const auto* entries = self.entries();
  if (entries && (name == "get" || name == "items" || name == "keys" || name == "values")) {
    return mapping_method(spent, *entries, name, given);
  }
  if (self.items() && (name == "index" || name == "count")) return list_method(spent, self, name, given);
  if (const auto* missing = self.get<undefined>()) {
    return spent.fail(fmt::format("'{}' is undefined, and has no '{}'", missing->name, name));
  }
  return spent.fail(fmt::format("'{}' has no method '{}' for templates", self.type_name(), name));
}

}  // namespace troupe::jinja
