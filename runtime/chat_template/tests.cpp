#include <map>
#include <string>

#include "runtime/chat_template/characters.hpp"
#include "runtime/chat_template/library.hpp"

namespace troupe::jinja {
namespace {

using test = bool (*)(budget&, const value&, const arguments&);

const value& first(const arguments& given) {
  static const value none_given = value::missing("argument");
  const auto* found = given.find(0);
  return found ? *found : none_given;
}

bool is_case(const value& input, std::string (*change)(std::string_view)) {
  return input.string() && *input.string() == change(*input.string()) &&
         to_upper(*input.string()) != to_lower(*input.string());
}

bool divisible(budget& spent, const value& input, const value& by) {
  return equal(spent, apply(spent, expression::op::modulo, input, by), value::of(std::int64_t{0}));
}

bool is_iterable(const value& input) {
  return input.string() || input.items() || input.entries() || input.is_undefined();
}

const std::map<std::string, test, std::less<>>& tests() {
  using v = const value&;
  using a = const arguments&;
  static const test equals = [](budget& spent, v input, a given) {
    return equal(spent, input, first(given));
  };
  static const test differs = [](budget& spent, v input, a given) {
    return !equal(spent, input, first(given));
  };
  static const test less = [](budget& spent, v input, a given) {
    return compare(spent, input, first(given)) < 0;
  };
  static const test less_equal = [](budget& spent, v input, a given) {
    return compare(spent, input, first(given)) <= 0;
  };
  static const test greater = [](budget& spent, v input, a given) {
    return compare(spent, input, first(given)) > 0;
  };
  static const test greater_equal = [](budget& spent, v input, a given) {
    return compare(spent, input, first(given)) >= 0;
  };
  static const std::map<std::string, test, std::less<>> all = {
      {"defined", [](budget&, v input, a) { return !input.is_undefined(); }},
      {"undefined", [](budget&, v input, a) { return input.is_undefined(); }},
      {"none", [](budget&, v input, a) { return input.is_none(); }},
      {"string", [](budget&, v input, a) { return input.string() != nullptr; }},
      {"mapping", [](budget&, v input, a) { return input.entries() != nullptr; }},
      {"sequence", [](budget&, v input, a) { return is_iterable(input); }},
      {"iterable", [](budget&, v input, a) { return is_iterable(input); }},
      {"number", [](budget&, v input, a) { return input.is_number(); }},
      {"integer", [](budget&, v input, a) { return input.get<std::int64_t>() != nullptr; }},
      {"float", [](budget&, v input, a) { return input.get<double>() != nullptr; }},
      {"boolean", [](budget&, v input, a) { return input.get<bool>() != nullptr; }},
      {"true", [](budget&, v input, a) { return input.get<bool>() && *input.get<bool>(); }},
      {"false", [](budget&, v input, a) { return input.get<bool>() && !*input.get<bool>(); }},
      {"callable", [](budget&, v input, a) { return input.get<const macro*>() || input.get<function>(); }},
      {"lower", [](budget&, v input, a) { return is_case(input, to_lower); }},
      {"upper", [](budget&, v input, a) { return is_case(input, to_upper); }},
      {"odd", [](budget& spent, v input, a) { return !divisible(spent, input, value::of(std::int64_t{2})); }},
      {"even", [](budget& spent, v input, a) { return divisible(spent, input, value::of(std::int64_t{2})); }},
      {"divisibleby", [](budget& spent, v input, a given) { return divisible(spent, input, first(given)); }},
      {"in", [](budget& spent, v input, a given) { return contains(spent, first(given), input); }},
      {"eq", equals},
      {"equalto", equals},
      {"sameas", equals},
      {"ne", differs},
      {"lt", less},
      {"lessthan", less},
      {"le", less_equal},
      {"gt", greater},
      {"greaterthan", greater},
      {"ge", greater_equal}};
  return all;
}

}  // namespace

bool has_test(std::string_view name) { return tests().contains(name); }

bool call_test(budget& spent, std::string_view name, const value& input, const arguments& given) {
  return spent.spend(input.string() ? input.size() : 0) && tests().find(name)->second(spent, input, given);
}

}  // namespace troupe::jinja
