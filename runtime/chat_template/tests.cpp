#include <fmt/format.h>

#include <map>
#include <string>

#include "runtime/chat_template/characters.hpp"
#include "runtime/chat_template/library.hpp"

namespace troupe::jinja {
namespace {

struct test {
  bool (*call)(budget&, const value&, const arguments&);
  const char* parameters = "";  // as arguments::settle() has them
};

const value& first(const arguments& given) {
  static const value none_given = value::missing("argument");
  const auto* found = given.find(0);
  return found ? *found : none_given;
}

// Of what is printed.
bool is_case(budget& spent, const value& input, std::string (*change)(std::string_view)) {
  const auto text = to_text(spent, input);
  return spent.spend(text.size()) && text == change(text) && to_upper(text) != to_lower(text);
}

bool leaves(budget& spent, const value& input, const value& by, std::int64_t rest) {
  return equal(spent, apply(spent, expression::op::modulo, input, by), value::of(rest));
}

bool is_iterable(const value& input) {
  return input.string() || input.items() || input.entries() || input.is_undefined();
}

// x is y, in Python: the same thing, which 1 and True are not.
bool is_same(budget& spent, const value& left, const value& right) {
  if (left.data().index() != right.data().index()) return false;
  if (left.items()) return left.items() == right.items();
  if (left.entries()) return left.entries() == right.entries();
  return equal(spent, left, right);
}

bool names_something(const value& input, bool (*known)(std::string_view)) {
  return input.string() && known(*input.string());
}

const std::map<std::string, test, std::less<>>& tests() {
  using v = const value&;
  using a = const arguments&;
  static const test equals = {[](budget& b, v input, a given) { return equal(b, input, first(given)); }, "-"};
  static const test differs = {[](budget& b, v input, a given) { return !equal(b, input, first(given)); },
                               "-"};
  static const test less = {[](budget& b, v input, a given) { return compare(b, input, first(given)) < 0; },
                            "-"};
  static const test less_equal = {
      [](budget& b, v input, a given) { return compare(b, input, first(given)) <= 0; }, "-"};
  static const test greater = {
      [](budget& b, v input, a given) { return compare(b, input, first(given)) > 0; }, "-"};
  static const test greater_equal = {
      [](budget& b, v input, a given) { return compare(b, input, first(given)) >= 0; }, "-"};
  static const std::map<std::string, test, std::less<>> all = {
      {"defined", {[](budget&, v input, a) { return !input.is_undefined(); }}},
      {"undefined", {[](budget&, v input, a) { return input.is_undefined(); }}},
      {"none", {[](budget&, v input, a) { return input.is_none(); }}},
      {"string", {[](budget&, v input, a) { return input.string() != nullptr; }}},
      {"mapping", {[](budget&, v input, a) { return input.entries() != nullptr; }}},
      {"sequence", {[](budget&, v input, a) { return is_iterable(input); }}},
      {"iterable", {[](budget&, v input, a) { return is_iterable(input); }}},
      {"number", {[](budget&, v input, a) { return input.is_number(); }}},
      {"integer",
       {[](budget&, v input, a) { return input.get<std::int64_t>() || input.get<large_integer>(); }}},
      {"float", {[](budget&, v input, a) { return input.get<double>() != nullptr; }}},
      {"boolean", {[](budget&, v input, a) { return input.get<bool>() != nullptr; }}},
      {"true", {[](budget&, v input, a) { return input.get<bool>() && *input.get<bool>(); }}},
      {"false", {[](budget&, v input, a) { return input.get<bool>() && !*input.get<bool>(); }}},
      {"callable", {[](budget&, v input, a) {
         return input.get<const closure*>() || input.get<function>() || input.get<joint*>();
       }}},
      {"filter", {[](budget&, v input, a) { return names_something(input, has_filter); }}},
      {"test", {[](budget&, v input, a) { return names_something(input, has_test); }}},
      {"lower", {[](budget& b, v input, a) { return is_case(b, input, to_lower); }}},
      {"upper", {[](budget& b, v input, a) { return is_case(b, input, to_upper); }}},
      {"odd", {[](budget& b, v input, a) { return leaves(b, input, value::of(std::int64_t{2}), 1); }}},
      {"even", {[](budget& b, v input, a) { return leaves(b, input, value::of(std::int64_t{2}), 0); }}},
      {"divisibleby", {[](budget& b, v input, a given) { return leaves(b, input, first(given), 0); }, "num"}},
      {"in", {[](budget& b, v input, a given) { return contains(b, first(given), input); }, "seq"}},
      {"sameas", {[](budget& b, v input, a given) { return is_same(b, input, first(given)); }, "other"}},
      {"eq", equals},
      {"equalto", equals},
      {"==", equals},
      {"ne", differs},
      {"!=", differs},
      {"lt", less},
      {"lessthan", less},
      {"<", less},
      {"le", less_equal},
      {"<=", less_equal},
      {"gt", greater},
      {"greaterthan", greater},
      {">", greater},
      {"ge", greater_equal},
      {">=", greater_equal}};
  return all;
}

}  // namespace

bool has_test(std::string_view name) { return tests().contains(name); }

bool call_test(budget& spent, std::string_view name, const value& input, arguments given) {
  const auto found = tests().find(name);
  if (found == tests().end()) return spent.fail(fmt::format("there is no test '{}'", name)), false;
  return spent.spend(input.string() ? input.size() : 0) &&
         given.settle(spent, name, found->second.parameters) && found->second.call(spent, input, given);
}

}  // namespace troupe::jinja
