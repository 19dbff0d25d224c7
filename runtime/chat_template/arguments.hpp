// What a filter, a test, a method or a function was called with.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/chat_template/operations.hpp"

namespace troupe::jinja {

struct arguments {
  std::vector<std::optional<value>> positional;  // once settled: nothing where a place was left out
  std::vector<std::pair<std::string, value>> named;

  // Puts named arguments in the places of `parameters`: names with blanks between them, "-" for one that has
  // none. Behind "..." more of both kinds are left as they are. False, with an error, where an argument is
  // none of the parameters: nothing is ignored that a template says. `callee` is named in the error.
  bool settle(budget& spent, std::string_view callee, std::string_view parameters);

  // The argument at a place, or of a name; nothing where it was not given.
  const value* find(std::size_t place) const {
    return place < positional.size() && positional[place] ? &*positional[place] : nullptr;
  }
  const value* find(std::string_view name) const {
    for (const auto& [given, argument] : named)
      if (given == name) return &argument;
    return nullptr;
  }
  // The same as a number, a truth or a text. Errors: another type.
  std::optional<std::int64_t> integer(budget& spent, std::size_t place) const {
    const auto* given = find(place);
    if (!given || given->is_none()) return std::nullopt;
    const auto number = given->integer();
    if (!number) spent.fail("an argument must be a whole number");
    return number;
  }
  bool truth(std::size_t place, bool preset) const {
    const auto* given = find(place);
    return given ? given->truthy() : preset;
  }
  const std::string* text(budget& spent, std::size_t place) const {
    const auto* given = find(place);
    if (!given || given->is_none()) return nullptr;
    if (!given->string()) spent.fail("an argument must be a string");
    return given->string();
  }
  std::size_t count() const { return positional.size() + named.size(); }
  // The arguments after the first `count` positional ones.
  arguments after(std::size_t count) const {
    arguments rest;
    for (auto place = count; place < positional.size(); ++place) rest.positional.push_back(positional[place]);
    rest.named = named;
    return rest;
  }
};

}  // namespace troupe::jinja
