#include <fmt/format.h>

#include <algorithm>

#include "runtime/chat_template/dates.hpp"
#include "runtime/chat_template/evaluator.hpp"

namespace troupe::jinja {

value evaluator::call(const value& called, const arguments& given) {
  if (spent_.failed()) return {};
  if (const auto* defined = called.get<const macro*>()) return call_macro(**defined, given);
  if (const auto* builtin = called.get<function>()) return call_function(*builtin, given);
  if (const auto* missing = called.get<undefined>())
    return spent_.fail(fmt::format("'{}' is undefined", missing->name));
  return spent_.fail(fmt::format("'{}' cannot be called", called.type_name()));
}

value evaluator::call_macro(const macro& called, const arguments& given) {
  const budget::level level(spent_);
  if (given.positional.size() > called.parameters.size()) {
    return spent_.fail(
        fmt::format("the macro '{}' takes {} arguments", called.name, called.parameters.size()));
  }
  for (const auto& [name, argument] : given.named) {
    const auto same = [&name = name](const macro::parameter& parameter) { return parameter.name == name; };
    if (std::none_of(called.parameters.begin(), called.parameters.end(), same)) {
      return spent_.fail(fmt::format("the macro '{}' takes no argument '{}'", called.name, name));
    }
  }
  const scope::frame frame(scope_, true);
  for (std::size_t at = 0; at < called.parameters.size(); ++at) {
    const auto& parameter = called.parameters[at];
    const auto* passed = given.find(at, parameter.name);
    scope_.set(parameter.name, passed             ? *passed
                               : parameter.preset ? evaluate(*parameter.preset)
                                                  : value::missing(parameter.name));
  }
  return value::of(capture(*called.body));
}

value evaluator::call_function(function called, const arguments& given) {
  switch (called) {
    case function::range:
      return range(given);
    case function::raise_exception: {
      const auto* message = given.find(0);
      return spent_.refuse(message ? to_text(spent_, *message) : "the chat template refuses these messages");
    }
    case function::make_namespace: {
      auto space = std::make_shared<name_space>();
      for (const auto& [name, argument] : given.named) {
        if (!argument.may_be_stored()) return spent_.fail("a namespace cannot hold a namespace or a loop");
        space->insert_or_assign(name, argument);
      }
      return value(value::variant(std::move(space)));
    }
    case function::make_dict:
      return contain(spent_, dict({given.named.begin(), given.named.end()}));
    case function::strftime_now: {
      const auto* format = given.text(spent_, 0, "format");
      return format ? write_date(spent_, *format, *now_) : spent_.fail("strftime_now() takes a string");
    }
  }
  return {};
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
