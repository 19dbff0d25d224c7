#include <fmt/format.h>

#include <algorithm>

#include "runtime/chat_template/characters.hpp"
#include "runtime/chat_template/objects.hpp"
#include "runtime/chat_template/operations.hpp"

namespace troupe::jinja {
namespace {

// A place counted from the front, or from the back where negative; nothing outside.
std::optional<std::size_t> place(std::int64_t index, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  if (index < 0) index += count;
  if (index < 0 || index >= count) return std::nullopt;
  return static_cast<std::size_t>(index);
}

value loop_attribute(const loop_state& loop, std::string_view name) {
  const auto number = [](std::size_t count) { return value::of(static_cast<std::int64_t>(count)); };
  const auto length = loop.items->size();
  if (name == "index") return number(loop.index + 1);
  if (name == "index0") return number(loop.index);
  if (name == "revindex") return number(length - loop.index);
  if (name == "revindex0") return number(length - loop.index - 1);
  if (name == "first") return value::truth(loop.index == 0);
  if (name == "last") return value::truth(loop.index + 1 == length);
  if (name == "length") return number(length);
  if (name == "depth") return number(1);  // deeper ones are recursive loops
  if (name == "depth0") return number(0);
  if (name == "previtem" && loop.index > 0) return (*loop.items)[loop.index - 1];
  if (name == "nextitem" && loop.index + 1 < length) return (*loop.items)[loop.index + 1];
  return value::missing(name);
}

// Python's slice.indices().
std::vector<std::size_t> slice_places(std::size_t size, std::optional<std::int64_t> start,
                                      std::optional<std::int64_t> stop, std::int64_t stride) {
  const auto count = static_cast<std::int64_t>(size);
  const std::int64_t low = stride > 0 ? 0 : -1;
  const std::int64_t high = stride > 0 ? count : count - 1;
  const auto bound = [&](std::optional<std::int64_t> given, std::int64_t preset) {
    if (!given) return preset;
    return std::clamp(*given < 0 ? *given + count : *given, low, high);
  };
  const auto end = bound(stop, stride > 0 ? high : low);
  std::vector<std::size_t> places;
  for (auto at = bound(start, stride > 0 ? low : high); stride > 0 ? at < end : at > end;) {
    places.push_back(static_cast<std::size_t>(at));
    if (__builtin_add_overflow(at, stride, &at)) break;
  }
  return places;
}

}  // namespace

value contain(budget& spent, list items, bool tuple) {
  if (!spent.spend(items.size())) return {};
  auto made = value::of(std::move(items), tuple);
  return made ? std::move(*made) : spent.fail("a list is nested too deeply, or holds a loop");
}

value contain(budget& spent, dict entries) {
  constexpr std::size_t of_an_entry = 64;  // a key, a value and a place in the index for each
  if (!spent.spend(of_an_entry * entries.entries().size())) return {};
  auto made = value::of(std::move(entries));
  return made ? std::move(*made) : spent.fail("a mapping is nested too deeply, or holds a loop");
}

std::shared_ptr<const list> iterate(budget& spent, const value& over) {
  if (const auto* sequence = over.get<value::sequence>()) return sequence->items;
  auto items = std::make_shared<list>();
  if (const auto* text = over.string()) {
    constexpr std::size_t of_a_character = 128;  // a value for each
    if (!spent.spend(of_a_character * count_characters(*text))) return items;
    for_each_character(*text, [&](std::string_view character, std::uint32_t) {
      items->push_back(value::of(std::string(character)));
    });
  } else if (const auto* entries = over.entries()) {
    if (!spent.spend(16 * over.size())) return items;
    for (const auto& [key, item] : entries->entries()) items->push_back(value_of(key));
  } else if (!over.is_undefined()) {
    spent.fail(fmt::format("'{}' is not iterable", over.type_name()));
  }
  return items;
}

value subscript(budget& spent, const value& over, const value& index) {
  if (!spent.spend(index.string() ? index.size() : 0)) return {};
  const auto name = to_text(spent, index);
  if (over.is_undefined()) return spent.fail(fmt::format("'{}' is undefined", over.get<undefined>()->name));
  if (const auto* entries = over.entries()) {
    const auto key = key_of(index);
    const auto* found = key ? entries->find(*key) : nullptr;
    return found ? *found : value::missing(name);
  }
  const auto number = index.integer();
  if (const auto* items = over.items(); items && number) {
    const auto at = place(*number, items->size());
    return at ? (*items)[*at] : value::missing(name);
  }
  if (const auto* text = over.string(); text && number) {
    if (!spent.spend(text->size())) return {};
    const auto at = place(*number, count_characters(*text));
    return at ? value::of(std::string(characters(*text)[*at])) : value::missing(name);
  }
  return index.string() ? attribute(spent, over, *index.string()) : value::missing(name);
}

value attribute(budget& spent, const value& over, std::string_view name) {
  if (!spent.spend(name.size())) return {};
  if (const auto* missing = over.get<undefined>()) {
    return spent.fail(fmt::format("'{}' is undefined, and has no '{}'", missing->name, name));
  }
  if (const auto* entries = over.entries()) {
    const auto* found = entries->find(name);
    return found ? *found : value::missing(name);
  }
  if (const auto* space = over.get<name_space*>()) {
    const auto found = (*space)->find(name);
    return found == (*space)->end() ? value::missing(name) : found->second;
  }
  if (const auto* loop = over.get<std::shared_ptr<loop_state>>()) return loop_attribute(**loop, name);
  if (const auto* turns = over.get<cycle*>(); turns && name == "current")
    return (*turns)->items[(*turns)->at];
  if (const auto* called = over.get<const closure*>(); called && name == "name")
    return value::of((*called)->defined->name);
  // What groupby makes are pairs that have names.
  const auto* pair = over.get<value::sequence>();
  if (pair && pair->tuple && pair->items->size() == 2) {
    if (name == "grouper") return pair->items->front();
    if (name == "list") return pair->items->back();
  }
  return value::missing(name);
}

value slice(budget& spent, const value& over, std::optional<std::int64_t> start,
            std::optional<std::int64_t> stop, std::int64_t stride) {
  if (stride == 0) return spent.fail("a slice's step cannot be zero");
  if (!spent.spend(over.size())) return {};
  if (const auto* items = over.items()) {
    list out;
    for (const auto at : slice_places(items->size(), start, stop, stride)) out.push_back((*items)[at]);
    return contain(spent, std::move(out), over.get<value::sequence>()->tuple);
  }
  const auto* text = over.string();
  if (!text) return spent.fail(fmt::format("'{}' cannot be sliced", over.type_name()));
  const auto all = characters(*text);
  std::string out;
  for (const auto at : slice_places(all.size(), start, stop, stride)) out += all[at];
  return value::of(std::move(out));
}

}  // namespace troupe::jinja
