#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/chat_template/evaluator.hpp"
#include "runtime/chat_template/library.hpp"

namespace troupe::jinja {

using kind = expression::kind;
namespace {

// Whether x.name(...) calls what x holds, such as a macro. In a mapping, what it has a method for comes
// first.
bool holds(const value& self, std::string_view name) {
  static constexpr std::string_view methods[] = {"clear", "copy",    "fromkeys",   "get",    "items", "keys",
                                                 "pop",   "popitem", "setdefault", "update", "values"};
  if (self.get<name_space*>()) return true;
  const auto* entries = self.entries();
  return entries && entries->find(name) &&
         std::find(std::begin(methods), std::end(methods), name) == std::end(methods);
}

bool names_repeat(const arguments& given) {
  if (given.named.size() < 2) return false;
  std::vector<std::string_view> names;
  for (const auto& [name, argument] : given.named) names.push_back(name);
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) != names.end();
}

}  // namespace

value evaluator::evaluate(const expression& node) {
  const budget::level level(spent_);
  if (!spent_.spend()) return {};
  switch (node.what) {
    case kind::literal:
      return node.constant;
    case kind::name:
      return name(node.name);
    case kind::list_display:
    case kind::tuple_display:
    case kind::dict_display:
      return display(node);
    case kind::conditional:
      return conditional(node);
    case kind::logical_or:
    case kind::logical_and:
      return logical(node);
    case kind::logical_not:
      return value::truth(!evaluate(*node.operands[0]).truthy());
    case kind::negative:
    case kind::positive:
      return sign(node);
    case kind::chain:
      return chain(node);
    case kind::comparison:
      return comparison(node);
    case kind::postfix:
      return postfix(node);
  }
  return {};
}

value evaluator::name(const std::string& name) {
  if (const auto* found = scope_.find(name)) return *found;
  if (name == "range") return value(value::variant(function::range));
  if (name == "namespace") return value(value::variant(function::make_namespace));
  if (name == "dict") return value(value::variant(function::make_dict));
  if (name == "cycler") return value(value::variant(function::make_cycler));
  if (name == "joiner") return value(value::variant(function::make_joiner));
  if (name == "raise_exception") return value(value::variant(function::raise_exception));
  if (name == "strftime_now" && now_) return value(value::variant(function::strftime_now));
  return value::missing(name);
}

value evaluator::display(const expression& node) {
  if (node.what == kind::dict_display) {
    std::vector<dict::entry> entries;
    for (std::size_t at = 0; at + 1 < node.operands.size(); at += 2) {
      const auto key = evaluate(*node.operands[at]);
      // Others are the same key as a whole number at most, but are not printed like it.
      if (!key.string() && !key.get<std::int64_t>())
        return spent_.fail("a mapping's keys must be strings or whole numbers", error_code::unsupported);
      entries.emplace_back(*key_of(key), evaluate(*node.operands[at + 1]));
    }
    return contain(spent_, dict(std::move(entries)));
  }
  list items;
  for (const auto& operand : node.operands) items.push_back(evaluate(*operand));
  return contain(spent_, std::move(items), node.what == kind::tuple_display);
}

value evaluator::conditional(const expression& node) {
  if (evaluate(*node.operands[1]).truthy()) return evaluate(*node.operands[0]);
  return node.operands[2] ? evaluate(*node.operands[2]) : value::missing("else");
}

value evaluator::logical(const expression& node) {
  value last;
  for (const auto& operand : node.operands) {
    last = evaluate(*operand);
    if (last.truthy() == (node.what == kind::logical_or) || spent_.failed()) break;
  }
  return last;
}

value evaluator::sign(const expression& node) {
  const auto operand = evaluate(*node.operands[0]);
  const auto op = node.what == kind::negative ? expression::op::subtract : expression::op::add;
  if (!operand.is_number()) {
    return spent_.failed() ? value() : spent_.fail(fmt::format("a sign before '{}'", operand.type_name()));
  }
  return apply(spent_, op, value::of(std::int64_t{0}), operand);
}

value evaluator::chain(const expression& node) {
  auto total = evaluate(*node.operands[0]);
  for (std::size_t at = 0; at < node.operators.size() && !spent_.failed(); ++at) {
    total = apply(spent_, node.operators[at], total, evaluate(*node.operands[at + 1]));
  }
  return total;
}

value evaluator::comparison(const expression& node) {
  auto left = evaluate(*node.operands[0]);
  for (std::size_t at = 0; at < node.operators.size() && !spent_.failed(); ++at) {
    auto right = evaluate(*node.operands[at + 1]);
    if (spent_.failed() || !apply(spent_, node.operators[at], left, right).truthy())
      return value::truth(false);
    left = std::move(right);
  }
  return value::truth(true);
}

value evaluator::postfix(const expression& node) {
  using what = expression::step::kind;
  auto current = evaluate(*node.operands[0]);
  for (std::size_t at = 0; at < node.steps.size() && !spent_.failed(); ++at) {
    const auto& one = node.steps[at];
    const bool called = at + 1 < node.steps.size() && node.steps[at + 1].what == what::call;
    if (one.what == what::attribute && called && !holds(current, one.name)) {
      current = call_method(spent_, current, one.name, evaluate_arguments(node.steps[++at].arguments));
    } else {
      current = step(current, one);
    }
  }
  return current;
}

value evaluator::step(const value& over, const expression::step& one) {
  using what = expression::step::kind;
  if (!spent_.spend()) return {};
  switch (one.what) {
    case what::attribute:
      return attribute(spent_, over, one.name);
    case what::subscript:
      return subscript(spent_, over, evaluate(*one.index));
    case what::slice:
      return slice_of(over, one);
    case what::call:
      return call(over, evaluate_arguments(one.arguments));
    case what::filter: {
      auto given = evaluate_arguments(one.arguments);
      return spent_.failed() ? value() : call_filter(spent_, one.name, over, std::move(given));
    }
    default: {
      auto given = evaluate_arguments(one.arguments);
      return value::truth(!spent_.failed() &&
                          call_test(spent_, one.name, over, std::move(given)) == (one.what == what::test));
    }
  }
}

value evaluator::slice_of(const value& over, const expression::step& one) {
  const auto bound = [this](const expression_ptr& given) -> std::optional<std::int64_t> {
    if (!given) return std::nullopt;
    const auto number = evaluate(*given);
    if (!number.integer() && !number.is_none()) spent_.fail("a slice's bounds must be whole numbers");
    return number.integer();
  };
  const auto start = bound(one.index);
  const auto stop = bound(one.stop);
  const auto stride = bound(one.stride).value_or(1);
  return spent_.failed() ? value() : slice(spent_, over, start, stop, stride);
}

// f(**mapping)
void evaluator::add_named(const value& mapping, arguments& made) {
  const auto* entries = mapping.entries();
  if (!entries) {
    spent_.fail(fmt::format("'{}' is no mapping of arguments", mapping.type_name()));
  } else if (spent_.spend(16 * entries->entries().size())) {
    for (const auto& [key, item] : entries->entries()) {
      const auto* name = std::get_if<std::string>(&key);
      if (!name) return void(spent_.fail("an argument's name must be a string"));
      made.named.emplace_back(*name, item);
    }
  }
}

arguments evaluator::evaluate_arguments(const std::vector<argument>& given) {
  arguments made;
  for (const auto& one : given) {
    auto evaluated = evaluate(*one.given);
    if (one.what == argument::kind::list) {
      const auto all = iterate(spent_, evaluated);
      if (spent_.spend(all->size())) made.positional.insert(made.positional.end(), all->begin(), all->end());
    } else if (one.what == argument::kind::mapping) {
      add_named(evaluated, made);
    } else if (one.name.empty()) {
      made.positional.emplace_back(std::move(evaluated));
    } else {
      made.named.emplace_back(one.name, std::move(evaluated));
    }
  }
  if (names_repeat(made)) spent_.fail("an argument is given twice");
  return made;
}

}  // namespace troupe::jinja
