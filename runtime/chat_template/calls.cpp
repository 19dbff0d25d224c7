#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/chat_template/dates.hpp"
#include "runtime/chat_template/evaluator.hpp"

namespace troupe::jinja {

value evaluator::call(const value& called, const arguments& given) {
  if (spent_.failed()) return {};
  if (const auto* defined = called.get<const closure*>()) return call_macro(**defined, given);
  if (const auto* builtin = called.get<function>()) return call_function(*builtin, given);
  if (const auto* joiner = called.get<joint*>()) {
    if (!arguments(given).settle(spent_, "a joiner", "")) return {};
    return std::exchange((*joiner)->used, true) ? (*joiner)->separator : value::of(std::string());
  }
  if (const auto* missing = called.get<undefined>())
    return spent_.fail(fmt::format("'{}' is undefined", missing->name));
  return spent_.fail(fmt::format("'{}' cannot be called", called.type_name()));
}

value evaluator::call_macro(const closure& called, const arguments& given) {
  const budget::level level(spent_);
  const auto& defined = *called.defined;
  if (!accepts(defined, given) || !spent_.spend(16 * called.around.size())) return {};
  const scope::call call(scope_, called.around);
  for (std::size_t at = 0; at < defined.parameters.size(); ++at) {
    const auto& parameter = defined.parameters[at];
    const auto* passed = at < given.positional.size() ? given.find(at) : given.find(parameter.name);
    scope_.set(parameter.name, passed             ? *passed
                               : parameter.preset ? evaluate(*parameter.preset)
                                                  : value::missing(parameter.name));
  }
  set_others(defined, given);
  return value::of(capture(*defined.body));
}

bool evaluator::accepts(const macro& called, const arguments& given) {
  if (!spent_.spend(called.parameters.size() * given.named.size())) return false;
  if (given.positional.size() > called.parameters.size() && !called.takes_more) {
    spent_.fail(fmt::format("the macro '{}' takes {} arguments", called.name, called.parameters.size()));
    return false;
  }
  for (const auto& [name, argument] : given.named) {
    const auto same = [&name = name](const macro::parameter& parameter) { return parameter.name == name; };
    const auto found = std::find_if(called.parameters.begin(), called.parameters.end(), same);
    const auto place = static_cast<std::size_t>(found - called.parameters.begin());
    if (place < std::min(given.positional.size(), called.parameters.size())) {
      spent_.fail(fmt::format("the macro '{}' is given '{}' twice", called.name, name));
      return false;
    }
    const bool taken =
        found != called.parameters.end() || called.takes_named || (called.takes_caller && name == "caller");
    if (!taken) {
      spent_.fail(fmt::format("the macro '{}' takes no argument '{}'", called.name, name));
      return false;
    }
  }
  return true;
}

// What a macro gets that it has no parameter for.
void evaluator::set_others(const macro& called, const arguments& given) {
  if (called.takes_caller) {
    const auto* caller = given.find("caller");
    scope_.set("caller", caller ? *caller : value::missing("caller"));
  }
  if (called.takes_more) {
    list more;
    for (auto at = called.parameters.size(); at < given.positional.size(); ++at)
      more.push_back(*given.find(at));
    scope_.set("varargs", contain(spent_, std::move(more), true));
  }
  if (called.takes_named) {
    std::vector<dict::entry> named;
    for (const auto& [name, argument] : given.named)
      if (!called.has_parameter(name) && name != "caller") named.emplace_back(name, argument);
    scope_.set("kwargs", contain(spent_, dict(std::move(named))));
  }
}

value evaluator::call_function(function called, arguments given) {
  switch (called) {
    case function::range:
      return given.settle(spent_, "range()", "- - -") ? range(given) : value();
    case function::raise_exception: {
      if (!given.settle(spent_, "raise_exception()", "message")) return {};
      const auto* message = given.find(0);
      return spent_.refuse(message ? to_text(spent_, *message) : "the chat template refuses these messages");
    }
    case function::make_namespace:
      return make_namespace(given);
    case function::make_dict:
      return make_dict(given);
    case function::make_cycler:
      return make_cycler(std::move(given));
    case function::make_joiner: {
      if (!given.settle(spent_, "joiner()", "sep")) return {};
      const auto* separator = given.find(0);
      return made_.add(joint{separator ? *separator : value::of(std::string(", "))});
    }
    case function::strftime_now: {
      if (!given.settle(spent_, "strftime_now()", "format")) return {};
      const auto* format = given.text(spent_, 0);
      return format ? write_date(spent_, *format, *now_) : spent_.fail("strftime_now() takes a string");
    }
  }
  return {};
}

// dict(x): the entries of a mapping, or a list's pairs.
std::vector<dict::entry> evaluator::entries_of(const value& given) {
  if (!spent_.spend(16 * given.size())) return {};
  if (const auto* entries = given.entries()) return entries->entries();
  std::vector<dict::entry> made;
  const auto pairs = iterate(spent_, given);
  for (const auto& pair : *pairs) {
    const auto* two = pair.items();
    const bool fits = two && two->size() == 2 && (two->front().string() || two->front().get<std::int64_t>());
    if (!fits) return spent_.fail("dict() takes pairs of a string or a whole number and a value"), made;
    made.emplace_back(*key_of(two->front()), two->back());
  }
  return made;
}

value evaluator::make_dict(const arguments& given) {
  if (given.positional.size() > 1) return spent_.fail("dict() takes one mapping");
  auto entries = given.find(0) ? entries_of(*given.find(0)) : std::vector<dict::entry>();
  entries.insert(entries.end(), given.named.begin(), given.named.end());
  return spent_.failed() ? value() : contain(spent_, dict(std::move(entries)));
}

value evaluator::make_namespace(const arguments& given) {
  const auto entries = make_dict(given);
  if (spent_.failed()) return {};
  name_space space;
  for (const auto& [name, item] : entries.entries()->entries()) {
    const auto* text = std::get_if<std::string>(&name);
    if (!text) return spent_.fail("a namespace's names must be strings");
    space.insert_or_assign(*text, item);
  }
  return made_.add(std::move(space));
}

value evaluator::make_cycler(arguments given) {
  if (!given.named.empty() || given.positional.empty()) return spent_.fail("cycler() takes values in turn");
  list items;
  for (auto& item : given.positional) items.push_back(std::move(*item));
  if (!contain(spent_, items).items()) return {};
  return made_.add(cycle{std::move(items)});
}

value evaluator::range(const arguments& given) {
  const auto first = given.integer(spent_, 0);
  const auto second = given.integer(spent_, 1);
  const auto stride = given.integer(spent_, 2).value_or(1);
  if (!first || stride == 0) return spent_.fail("range() takes whole numbers and a step that is not 0");
  const auto end = second ? *second : *first;
  list numbers;
  for (auto at = second ? *first : 0; stride > 0 ? at < end : at > end;) {
    if (!spent_.spend()) return {};
    numbers.push_back(value::of(at));
    if (__builtin_add_overflow(at, stride, &at)) break;
  }
  return contain(spent_, std::move(numbers));
}

}  // namespace troupe::jinja
