#include <fmt/format.h>

#include <string>

#include "runtime/chat_template/library.hpp"
#include "runtime/chat_template/objects.hpp"
#include "runtime/chat_template/string_methods.hpp"

namespace troupe::jinja {
namespace {

using a = const arguments&;

value mapping_method(budget& spent, const dict& self, std::string_view name, a given) {
  if (name == "copy") return contain(spent, self);
  if (name == "get") {
    const auto* wanted = given.find(0);
    if (wanted && wanted->string() && !spent.spend(wanted->size())) return {};
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

value loop_method(budget& spent, loop_state& loop, std::string_view name, a given) {
  if (!given.named.empty()) return spent.fail("loop.cycle() and loop.changed() take values");
  list values;
  for (const auto& one : given.positional) values.push_back(*one);
  const auto held = contain(spent, std::move(values));
  if (!held.items()) return {};
  if (name == "changed") {
    auto& seen = *loop.seen;
    const bool same = seen && equal(spent, *value::of(*seen), held);
    seen = *held.items();
    return value::truth(!same);
  }
  if (held.items()->empty()) return spent.fail("loop.cycle() takes values in turn");
  return (*held.items())[loop.index % held.items()->size()];
}

value cycler_method(cycle& turns, std::string_view name) {
  if (name == "reset") {
    turns.at = 0;
    return value::nothing();
  }
  auto current = turns.items[turns.at];
  turns.at = (turns.at + 1) % turns.items.size();
  return current;
}

}  // namespace

value call_method(budget& spent, const value& self, std::string_view name, arguments given) {
  if (!spent.spend(self.string() ? 4 * self.size() : 0)) return {};
  const auto callee = fmt::format("{}()", name);
  if (const auto* text = self.string()) {
    for (const auto* methods : {&changing_methods(), &splitting_methods(), &asking_methods()}) {
      const auto found = methods->find(name);
      if (found == methods->end()) continue;
      return given.settle(spent, callee, found->second.parameters) ? found->second.call(spent, *text, given)
                                                                   : value();
    }
  }
  if (const auto* entries = self.entries()) {
    const bool reads = name == "items" || name == "keys" || name == "values" || name == "copy";
    if (reads || name == "get")
      return given.settle(spent, callee, reads ? "" : "- -") ? mapping_method(spent, *entries, name, given)
                                                             : value();
  }
  if (self.items() && (name == "index" || name == "count"))
    return given.settle(spent, callee, "-") ? list_method(spent, self, name, given) : value();
  if (const auto* loop = self.get<std::shared_ptr<loop_state>>();
      loop && (name == "cycle" || name == "changed"))
    return loop_method(spent, **loop, name, given);
  if (const auto* turns = self.get<cycle*>(); turns && (name == "next" || name == "reset"))
    return given.settle(spent, callee, "") ? cycler_method(**turns, name) : value();
  if (const auto* missing = self.get<undefined>()) {
    return spent.fail(fmt::format("'{}' is undefined, and has no '{}'", missing->name, name));
  }
  return spent.fail(fmt::format("'{}' has no method '{}' for templates", self.type_name(), name));
}

}  // namespace troupe::jinja
