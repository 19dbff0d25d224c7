// What a filter, a test, a method or a function was called with.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/chat_template/operations.hpp"

namespace troupe::jinja {

struct arguments {
  std::vector<value> positional;
  std::vector<std::pair<std::string, value>> named;

  // The argument at a place or of a name; nothing where it was not given.
  const value* find(std::size_t place, std::string_view name = {}) const {
    if (place < positional.size()) return &positional[place];
    for (const auto& [given, argument] : named) {
      if (!name.empty() && given == name) return &argument;
    }
    return nullptr;
  }
  // The same as a number, a truth or a text. Errors: another type.
  std::optional<std::int64_t> integer(budget& spent, std::size_t place, std::string_view name = {}) const {
    const auto* given = find(place, name);
    if (!given || given->is_none()) return std::nullopt;
    const auto number = given->integer();
    if (!number) spent.fail("an argument must be a whole number");
    return number;
  }
  bool truth(std::size_t place, std::string_view name, bool preset) const {
    const auto* given = find(place, name);
    return given ? given->truthy() : preset;
  }
  const std::string* text(budget& spent, std::size_t place, std::string_view name = {}) const {
    const auto* given = find(place, name);
    if (!given || given->is_none()) return nullptr;
    if (!given->string()) spent.fail("an argument must be a string");
    return given->string();
  }
  // The arguments after the first `count` positional ones.
  arguments after(std::size_t count) const {
    arguments rest;
    for (auto place = count; place < positional.size(); ++place) rest.positional.push_back(positional[place]);
    rest.named = named;
    return rest;
  }
};

}  // namespace troupe::jinja
