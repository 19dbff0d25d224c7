#include <fmt/format.h>

#include "runtime/chat_template/evaluator.hpp"
#include "runtime/chat_template/library.hpp"

namespace troupe::jinja {

void evaluator::run(const block& statements, std::string& out) { execute(statements, out); }

evaluator::flow evaluator::execute(const block& statements, std::string& out) {
  const budget::level level(spent_);
  for (const auto& one : statements) {
    if (!spent_.spend()) break;
    spent_.at_line(one.line);
    const auto next = execute_one(one, out);
    if (next != flow::next) return next;
  }
  return flow::next;
}

evaluator::flow evaluator::execute_one(const statement& one, std::string& out) {
  using kind = statement::kind;
  switch (one.what) {
    case kind::text:
      print(one.text, out);
      break;
    case kind::output:
      print(to_text(spent_, evaluate(*one.given)), out);
      break;
    case kind::if_else:
      return if_else(one, out);
    case kind::for_loop:
      return for_loop(one, out);
    case kind::set:
      assign(one.bound, evaluate(*one.given));
      break;
    case kind::set_block:
      assign(one.bound, filtered(one));
      break;
    case kind::filter_block:
      print(to_text(spent_, filtered(one)), out);
      break;
    case kind::macro_definition:
      scope_.set(one.defined->name, closed_over(*one.defined));
      break;
    case kind::call_block:
      call_block(one, out);
      break;
    case kind::with_block:
      return with_block(one, out);
    case kind::group: {
      const scope::frame frame(scope_);
      return execute(one.body, out);
    }
    case kind::break_loop:
      return flow::stop_loop;
    case kind::continue_loop:
      return flow::next_round;
  }
  return flow::next;
}

evaluator::flow evaluator::if_else(const statement& one, std::string& out) {
  for (const auto& [condition, body] : one.branches) {
    const bool taken = !condition || evaluate(*condition).truthy();
    if (spent_.failed()) break;
    if (taken) return execute(body, out);
  }
  return flow::next;
}

// What the "else" leaves or goes on with is the loop around this one.
evaluator::flow evaluator::for_loop(const statement& one, std::string& out) {
  const auto items = loop_items(one);
  if (spent_.failed()) return flow::next;
  if (items->empty()) {
    const scope::frame frame(scope_);
    return execute(one.otherwise, out);
  }
  const auto seen = std::make_shared<std::optional<list>>();
  for (std::size_t index = 0; index < items->size() && spent_.spend(); ++index) {
    const auto state = std::make_shared<loop_state>(loop_state{items, index, seen});
    if (round(one, value(value::variant(state)), (*items)[index], out) == flow::stop_loop) break;
  }
  return flow::next;
}

evaluator::flow evaluator::round(const statement& one, const value& loop, const value& item,
                                 std::string& out) {
  const scope::frame frame(scope_);
  scope_.set("loop", loop);
  assign(one.bound, item);
  return execute(one.body, out);
}

// What the loop goes over: its items, less those that its "if" drops.
std::shared_ptr<const list> evaluator::loop_items(const statement& one) {
  auto items = iterate(spent_, evaluate(*one.given));
  if (!one.condition || spent_.failed()) return items;
  auto kept = std::make_shared<list>();
  for (const auto& item : *items) {
    if (!spent_.spend()) break;
    const scope::frame frame(scope_);
    assign(one.bound, item);
    if (evaluate(*one.condition).truthy()) kept->push_back(item);
  }
  return kept;
}

// A macro with the frames around it, which live on with it.
value evaluator::closed_over(const macro& defined) {
  constexpr std::size_t of_a_frame = 1024;
  if (!spent_.spend(of_a_frame + 16 * scope_.visible().size())) return {};
  return made_.add(closure{&defined, scope_.visible()});
}

// The body of {% call %} is a macro that the one that is called knows as caller().
void evaluator::call_block(const statement& one, std::string& out) {
  const auto caller = closed_over(*one.defined);
  const scope::frame frame(scope_);
  scope_.set(caller_variable, caller);
  print(to_text(spent_, evaluate(*one.given)), out);
}

// The values are those of names outside of the block.
evaluator::flow evaluator::with_block(const statement& one, std::string& out) {
  std::vector<value> values;
  for (const auto& [bound, given] : one.bindings) values.push_back(evaluate(*given));
  const scope::frame frame(scope_);
  for (std::size_t at = 0; at < values.size(); ++at) assign(one.bindings[at].first, std::move(values[at]));
  return execute(one.body, out);
}

void evaluator::assign(const target& bound, value given) {
  if (spent_.failed()) return;
  if (bound.unpack) return unpack(bound, given);
  if (bound.attribute.empty()) return scope_.set(bound.name, std::move(given));
  const auto* holder = scope_.find(bound.name);
  const auto* space = holder ? holder->get<name_space*>() : nullptr;
  if (!space) {
    spent_.fail(fmt::format("'{}' is no namespace", bound.name));
  } else if (!given.may_be_stored()) {
    spent_.fail("a namespace cannot hold a loop", error_code::unsupported);
  } else {
    (*space)->insert_or_assign(bound.attribute, std::move(given));
  }
}

void evaluator::unpack(const target& bound, const value& given) {
  const auto items = iterate(spent_, given);
  if (items->size() != bound.parts.size()) {
    spent_.fail(fmt::format("expected {} values to unpack, got {}", bound.parts.size(), items->size()));
    return;
  }
  for (std::size_t at = 0; at < items->size(); ++at) assign(bound.parts[at], (*items)[at]);
}

void evaluator::print(std::string_view text, std::string& out) {
  if (spent_.spend(text.size()) && spent_.check_length(out.size() + text.size())) out += text;
}

value evaluator::filtered(const statement& one) {
  auto captured = value::of(capture(one.body));
  for (const auto& filter : one.filters) captured = step(captured, filter);
  return captured;
}

// In a scope of its own.
std::string evaluator::capture(const block& statements) {
  const scope::frame frame(scope_);
  std::string text;
  execute(statements, text);
  return text;
}

}  // namespace troupe::jinja
