#include "runtime/chat_template/expression_parser.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <system_error>
#include <utility>

#include "runtime/chat_template/library.hpp"

namespace troupe::jinja {
namespace {

using kind = expression::kind;
using op = expression::op;
using step = expression::step;
using expression_type = std::unique_ptr<expression>;

class expression_parser {
 public:
  explicit expression_parser(token_reader& reader) : reader_(reader) {}

  expression_type conditional() {
    const token_reader::level level(reader_);
    const auto unknown = reader_.unknown();
    auto first = logical_or();
    if (reader_.failed() || !reader_.take_name("if")) return first;
    auto node = make(kind::conditional);
    node->operands.push_back(std::move(first));
    node->operands.push_back(logical_or());
    node->operands.push_back(reader_.take_name("else") ? conditional() : nullptr);
    reader_.set_unknown(unknown);
    return node;
  }

  expression_type logical_or() {
    return joined(kind::logical_or, "or",
                  [this] { return joined(kind::logical_and, "and", [this] { return logical_not(); }); });
  }

  expression_type tuple(bool with_conditions) {
    auto first = with_conditions ? conditional() : logical_or();
    if (!reader_.is_symbol(",")) return first;
    auto node = make(kind::tuple_display);
    node->operands.push_back(std::move(first));
    while (!reader_.failed() && reader_.take_symbol(",") && begins_expression())
      node->operands.push_back(conditional());
    return node;
  }

  void filter(std::vector<step>& steps) {
    auto& made = steps.emplace_back();
    made.what = step::kind::filter;
    made.name = reader_.expect_name("a filter's name");
    if (!has_filter(made.name)) reader_.suspect("there is no filter '" + made.name + "'");
    if (reader_.take_symbol("(")) made.arguments = arguments();
  }

 private:
  expression_type make(kind what) const {
    auto node = std::make_unique<expression>();
    node->what = what;
    node->line = reader_.peek().line;
    return node;
  }

  bool begins_expression() const {
    const auto& token = reader_.peek();
    if (token.what == token::kind::symbol)
      return std::string_view("([{-+").find(token.text[0]) != std::string_view::npos;
    return token.what == token::kind::name || token.what == token::kind::string ||
           token.what == token::kind::integer || token.what == token::kind::real;
  }

  template <class Operand>
  expression_type joined(kind what, std::string_view word, const Operand& operand) {
    auto first = operand();
    if (!reader_.is_name(word)) return first;
    auto node = make(what);
    node->operands.push_back(std::move(first));
    while (!reader_.failed() && reader_.take_name(word)) node->operands.push_back(operand());
    return node;
  }

  expression_type logical_not() {
    if (!reader_.is_name("not") || reader_.is_name("in", 1)) return comparison();
    const token_reader::level level(reader_);
    auto node = make(kind::logical_not);
    reader_.next();
    node->operands.push_back(reader_.failed() ? make(kind::literal) : logical_not());
    return node;
  }

  bool take_comparison(op& found) {
    static constexpr std::array<std::pair<std::string_view, op>, 6> symbols = {{{"==", op::equal},
                                                                                {"!=", op::not_equal},
                                                                                {"<=", op::less_equal},
                                                                                {">=", op::greater_equal},
                                                                                {"<", op::less},
                                                                                {">", op::greater}}};
    for (const auto& [text, meaning] : symbols) {
      if (reader_.take_symbol(text)) return found = meaning, true;
    }
    if (reader_.take_name("in")) return found = op::in, true;
    if (!reader_.is_name("not") || !reader_.is_name("in", 1)) return false;
    reader_.next();
    reader_.next();
    return found = op::not_in, true;
  }

  expression_type comparison() {
    return chained(
        kind::comparison, [this] { return sum(); }, [this](op& found) { return take_comparison(found); });
  }
  expression_type sum() {
    return chained(
        kind::chain, [this] { return concatenation(); },
        [this](op& found) {
          return take_one({{{"+", op::add}, {"-", op::subtract}}}, found);
        });
  }
  expression_type concatenation() {
    return chained(
        kind::chain, [this] { return product(); },
        [this](op& found) { return reader_.take_symbol("~") && (found = op::join, true); });
  }
  expression_type product() {
    return chained(
        kind::chain, [this] { return power(); },
        [this](op& found) {
          return take_one({{{"*", op::multiply}, {"/", op::divide}}}, found) ||
                 take_one({{{"//", op::floor_divide}, {"%", op::modulo}}}, found);
        });
  }
  expression_type power() {
    return chained(
        kind::chain, [this] { return unary(true); },
        [this](op& found) { return reader_.take_symbol("**") && (found = op::power, true); });
  }

  bool take_one(const std::array<std::pair<std::string_view, op>, 2>& symbols, op& found) {
    for (const auto& [text, meaning] : symbols) {
      if (reader_.take_symbol(text)) return found = meaning, true;
    }
    return false;
  }

  // operand (operator operand)*
  template <class Operand, class Take>
  expression_type chained(kind what, const Operand& operand, const Take& take) {
    auto first = operand();
    op found{};
    if (reader_.failed() || !take(found)) return first;
    auto node = make(what);
    node->operands.push_back(std::move(first));
    do {
      node->operators.push_back(found);
      node->operands.push_back(operand());
    } while (!reader_.failed() && take(found));
    return node;
  }

  // A sign binds tighter than a power, and a filter looser than a sign: -2|abs is 2.
  expression_type unary(bool with_filters) {
    if (!reader_.is_symbol("-") && !reader_.is_symbol("+")) {
      auto operand = postfix(primary());
      return with_filters ? postfix_filters(std::move(operand)) : std::move(operand);
    }
    const token_reader::level level(reader_);
    auto node = make(reader_.is_symbol("-") ? kind::negative : kind::positive);
    reader_.next();
    node->operands.push_back(reader_.failed() ? make(kind::literal) : unary(false));
    return with_filters ? postfix_filters(std::move(node)) : std::move(node);
  }

  expression_type literal(value constant) {
    auto node = make(kind::literal);
    node->constant = std::move(constant);
    return node;
  }

  expression_type primary() {
    if (reader_.failed()) return make(kind::literal);
    switch (reader_.peek().what) {
      case token::kind::name:
        return name();
      case token::kind::string:
        return strings();
      case token::kind::integer:
        return integer();
      case token::kind::real:
        return real();
      default:
        break;
    }
    if (reader_.take_symbol("(")) return parenthesis();
    if (reader_.take_symbol("[")) return collection(kind::list_display, "]");
    if (reader_.take_symbol("{")) return collection(kind::dict_display, "}");
    reader_.complain("expected an expression");
    return make(kind::literal);
  }

  expression_type name() {
    auto node = make(kind::name);
    node->name = reader_.next().text;
    if (node->name == "true" || node->name == "True") return literal(value::truth(true));
    if (node->name == "false" || node->name == "False") return literal(value::truth(false));
    if (node->name == "none" || node->name == "None") return literal(value::nothing());
    return node;
  }

  // Neighbouring literals are one.
  expression_type strings() {
    std::string text;
    while (reader_.peek().what == token::kind::string) text += reader_.next().text;
    return literal(value::of(std::move(text)));
  }

  expression_type integer() {
    std::int64_t number = 0;
    const auto text = reader_.peek().text;
    const bool fits = std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
    reader_.next();
    if (!fits) return literal(value::large(text));
    return literal(value::of(number));
  }
  expression_type real() {
    double number = 0;
    const auto text = reader_.next().text;
    const auto failure = std::from_chars(text.data(), text.data() + text.size(), number).ec;
    // Infinite, or next to nothing: from_chars() does not say which.
    if (failure == std::errc::result_out_of_range) number = std::strtod(std::string(text).c_str(), nullptr);
    return literal(value(value::variant(number)));
  }

  expression_type parenthesis() {
    if (reader_.take_symbol(")")) return make(kind::tuple_display);
    auto inner = tuple(true);
    reader_.expect_symbol(")");
    return inner;
  }

  expression_type collection(kind what, std::string_view end) {
    auto node = make(what);
    while (!reader_.failed() && !reader_.take_symbol(end)) {
      if (!node->operands.empty()) {
        reader_.expect_symbol(",");
        if (reader_.take_symbol(end)) break;
      }
      node->operands.push_back(conditional());
      if (what != kind::dict_display) continue;
      reader_.expect_symbol(":");
      if (!reader_.failed()) node->operands.push_back(conditional());
    }
    return node;
  }

  static expression_type with_steps(expression_type operand, std::vector<step> steps) {
    if (steps.empty()) return operand;
    if (operand->what == kind::postfix) {
      for (auto& one : steps) operand->steps.push_back(std::move(one));
      return operand;
    }
    auto node = std::make_unique<expression>();
    node->what = kind::postfix;
    node->line = operand->line;
    node->operands.push_back(std::move(operand));
    node->steps = std::move(steps);
    return node;
  }

  // .name, [index], (arguments).
  expression_type postfix(expression_type operand) {
    std::vector<step> steps;
    while (!reader_.failed()) {
      if (reader_.take_symbol(".")) {
        auto& made = steps.emplace_back();
        made.what =
            reader_.peek().what == token::kind::integer ? step::kind::subscript : step::kind::attribute;
        if (made.what == step::kind::subscript) {
          made.index = integer();
        } else {
          made.name = reader_.expect_name("an attribute's name");
        }
      } else if (reader_.take_symbol("[")) {
        subscript(steps.emplace_back());
      } else if (reader_.take_symbol("(")) {
        auto& made = steps.emplace_back();
        made.what = step::kind::call;
        made.arguments = arguments();
      } else {
        break;
      }
    }
    return with_steps(std::move(operand), std::move(steps));
  }

  // |filter, is test.
  expression_type postfix_filters(expression_type operand) {
    std::vector<step> steps;
    while (!reader_.failed()) {
      if (reader_.take_symbol("|")) {
        filter(steps);
      } else if (reader_.take_name("is")) {
        test(steps.emplace_back());
      } else {
        break;
      }
    }
    return with_steps(std::move(operand), std::move(steps));
  }

  void test(step& made) {
    made.what = reader_.take_name("not") ? step::kind::not_test : step::kind::test;
    made.name = reader_.expect_name("a test's name");
    if (!has_test(made.name)) reader_.suspect("there is no test '" + made.name + "'");
    if (reader_.take_symbol("(")) {
      made.arguments = arguments();
      return;
    }
    const bool word = reader_.is_name("else") || reader_.is_name("or") || reader_.is_name("and") ||
                      reader_.is_name("if") || reader_.is_name("is") || reader_.is_name("in") ||
                      reader_.is_name("not");
    const bool sign = reader_.is_symbol("-") || reader_.is_symbol("+");
    if (word || sign || !begins_expression()) return;
    made.arguments.push_back({{}, postfix(primary())});
  }

  void subscript(step& made) {
    made.what = step::kind::subscript;
    const auto bound = [this] {
      return reader_.is_symbol(":") || reader_.is_symbol("]") ? nullptr : conditional();
    };
    made.index = bound();
    if (reader_.take_symbol(":")) {
      made.what = step::kind::slice;
      made.stop = bound();
      if (reader_.take_symbol(":")) made.stride = bound();
    } else if (!made.index) {
      reader_.complain("expected an expression");
    }
    reader_.expect_symbol("]");
  }

  std::vector<argument> arguments() {
    std::vector<argument> given;
    while (!reader_.failed() && !reader_.take_symbol(")")) {
      if (!given.empty()) {
        reader_.expect_symbol(",");
        if (reader_.take_symbol(")")) break;
      }
      auto& made = given.emplace_back();
      if (reader_.take_symbol("*")) {
        made.what = argument::kind::list;
      } else if (reader_.take_symbol("**")) {
        made.what = argument::kind::mapping;
      } else if (reader_.peek().what == token::kind::name && reader_.is_symbol("=", 1)) {
        made.name = reader_.next().text;
        reader_.next();
      }
      made.given = conditional();
    }
    return given;
  }

  token_reader& reader_;
};

}  // namespace

expression_ptr parse_expression(token_reader& reader) { return expression_parser(reader).conditional(); }
expression_ptr parse_unconditional(token_reader& reader) { return expression_parser(reader).tuple(false); }
expression_ptr parse_tuple(token_reader& reader) { return expression_parser(reader).tuple(true); }

expression_ptr parse_call(token_reader& reader, std::string_view named, std::string_view variable) {
  auto made = expression_parser(reader).conditional();
  if (made->what != kind::postfix || made->steps.empty() || made->steps.back().what != step::kind::call) {
    reader.complain("expected a call");
    return made;
  }
  auto handed_over = std::make_unique<expression>();
  handed_over->what = kind::name;
  handed_over->line = made->line;
  handed_over->name = variable;
  made->steps.back().arguments.push_back({std::string(named), std::move(handed_over)});
  return made;
}

std::vector<expression::step> parse_filter_chain(token_reader& reader) {
  std::vector<expression::step> steps;
  do expression_parser(reader).filter(steps);
  while (!reader.failed() && reader.take_symbol("|"));
  return steps;
}

std::vector<expression::step> parse_filters(token_reader& reader) {
  std::vector<expression::step> steps;
  while (!reader.failed() && reader.take_symbol("|")) expression_parser(reader).filter(steps);
  return steps;
}

}  // namespace troupe::jinja
