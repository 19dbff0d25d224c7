#include "runtime/chat_template/parser.hpp"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>

#include "runtime/chat_template/expression_parser.hpp"

namespace troupe::jinja {
namespace {

using statement_kind = statement::kind;

class parser {
 public:
  parser(std::vector<token> tokens, std::size_t max_depth) : reader_(std::move(tokens), max_depth) {}

  result<block> run() {
    auto statements = until({});
    if (!reader_.failed() && reader_.peek().what != token::kind::end) {
      reader_.next();
      unexpected();
    }
    if (reader_.failed()) return tl::unexpected(*reader_.failure());
    return statements;
  }

 private:
  bool at_end_tag(std::initializer_list<std::string_view> ends) const {
    return reader_.peek().what == token::kind::block_begin &&
           std::any_of(ends.begin(), ends.end(),
                       [this](std::string_view end) { return reader_.is_name(end, 1); });
  }

  // Statements up to a block whose word is one of `ends`, which is not taken. No ends: up to the template's
  // end.
  block until(std::initializer_list<std::string_view> ends) {
    const token_reader::level level(reader_);
    block statements;
    while (!reader_.failed() && !at_end_tag(ends)) {
      if (reader_.peek().what == token::kind::end) {
        if (ends.size() > 0) reader_.complain("expected '" + std::string(*ends.begin()) + "'");
        break;
      }
      parse_one(statements);
    }
    return statements;
  }

  void parse_one(block& statements) {
    statement made;
    made.line = reader_.peek().line;
    switch (reader_.peek().what) {
      case token::kind::text:
        made.what = statement_kind::text;
        made.text = reader_.next().text;
        break;
      case token::kind::output_begin:
        reader_.next();
        made.what = statement_kind::output;
        made.given = parse_tuple(reader_);
        if (reader_.peek().what != token::kind::output_end) reader_.complain("expected '}}'");
        reader_.next();
        break;
      default:
        reader_.next();
        parse_block(made);
    }
    if (!reader_.failed()) statements.push_back(std::move(made));
  }

  void end_block() {
    if (reader_.peek().what != token::kind::block_end) reader_.complain("expected '%}'");
    reader_.next();
  }

  // {% end %}, which until() has found.
  void end_tag(std::string_view word) {
    reader_.next();
    if (!reader_.take_name(word)) reader_.complain("expected '" + std::string(word) + "'");
    end_block();
  }

  void unexpected() {
    static constexpr std::string_view outside[] = {"include", "import", "from",       "extends",
                                                   "block",   "with",   "call",       "filter",
                                                   "do",      "trans",  "autoescape", "debug"};
    const bool known =
        std::find(std::begin(outside), std::end(outside), reader_.peek().text) != std::end(outside);
    reader_.complain("the block '" + reader_.peek().text + "' is not supported here",
                     known ? error_code::unsupported : error_code::invalid_argument);
  }

  void parse_block(statement& made) {
    if (reader_.take_name("if")) return if_else(made);
    if (reader_.take_name("for")) return for_loop(made);
    if (reader_.take_name("set")) return set(made);
    if (reader_.take_name("macro")) return macro_definition(made);
    if (reader_.is_name("break") || reader_.is_name("continue")) {
      made.what = reader_.next().text == "break" ? statement_kind::break_loop : statement_kind::continue_loop;
      if (loops_ == 0) reader_.complain("'break' and 'continue' belong into a loop");
      return end_block();
    }
    if (reader_.take_name("generation")) {  // marks the assistant's words for training; means nothing here
      end_block();
      made.what = statement_kind::group;
      made.body = until({"endgeneration"});
      return end_tag("endgeneration");
    }
    unexpected();
  }

  void if_else(statement& made) {
    made.what = statement_kind::if_else;
    auto condition = parse_tuple(reader_);
    while (!reader_.failed()) {
      end_block();
      auto body = until({"endif", "elif", "else"});
      made.branches.emplace_back(std::move(condition), std::move(body));
      reader_.next();
      if (reader_.take_name("elif")) {
        condition = parse_tuple(reader_);
      } else if (reader_.take_name("else")) {
        end_block();
        made.branches.emplace_back(nullptr, until({"endif"}));
        return end_tag("endif");
      } else {
        reader_.next();
        return end_block();
      }
    }
  }

  target parse_target(bool attributes) {
    target bound;
    bound.names.push_back(assignable());
    if (attributes && reader_.take_symbol(".")) {
      bound.attribute = reader_.expect_name("an attribute's name");
      return bound;
    }
    while (!reader_.failed() && reader_.take_symbol(",")) {
      bound.unpack = true;
      if (reader_.peek().what == token::kind::name && !reader_.is_name("in"))
        bound.names.push_back(assignable());
    }
    return bound;
  }

  std::string assignable() {
    const bool parenthesis = reader_.take_symbol("(");
    const auto name = reader_.expect_name("a name");
    if (parenthesis) reader_.complain("names in parentheses are not supported", error_code::unsupported);
    static constexpr std::string_view constants[] = {"true", "false", "none", "True", "False", "None"};
    if (std::find(std::begin(constants), std::end(constants), name) != std::end(constants)) {
      reader_.complain("a constant cannot be set");
    }
    return name;
  }

  void for_loop(statement& made) {
    made.what = statement_kind::for_loop;
    made.bound = parse_target(false);
    if (!reader_.take_name("in")) reader_.complain("expected 'in'");
    made.given = parse_unconditional(reader_);
    if (reader_.take_name("if")) made.condition = parse_expression(reader_);
    if (reader_.is_name("recursive"))
      reader_.complain("recursive loops are not supported", error_code::unsupported);
    end_block();
    ++loops_;
    made.body = until({"endfor", "else"});
    --loops_;
    if (!reader_.is_name("else", 1)) return end_tag("endfor");
    end_tag("else");
    made.otherwise = until({"endfor"});
    end_tag("endfor");
  }

  void set(statement& made) {
    made.bound = parse_target(true);
    if (reader_.take_symbol("=")) {
      made.what = statement_kind::set;
      made.given = parse_tuple(reader_);
      return end_block();
    }
    made.what = statement_kind::set_block;
    made.filters = parse_filters(reader_);
    end_block();
    made.body = until({"endset"});
    end_tag("endset");
  }

  void macro_definition(statement& made) {
    made.what = statement_kind::macro_definition;
    auto defined = std::make_shared<macro>();
    defined->name = reader_.expect_name("the macro's name");
    reader_.expect_symbol("(");
    while (!reader_.failed() && !reader_.take_symbol(")")) {
      if (!defined->parameters.empty()) reader_.expect_symbol(",");
      auto& parameter = defined->parameters.emplace_back();
      parameter.name = reader_.expect_name("a parameter's name");
      if (reader_.take_symbol("=")) parameter.preset = parse_expression(reader_);
    }
    end_block();
    const auto loops = std::exchange(loops_, 0);
    defined->body = std::make_shared<const block>(until({"endmacro"}));
    loops_ = loops;
    end_tag("endmacro");
    made.defined = std::move(defined);
  }

  token_reader reader_;
  std::size_t loops_ = 0;  // around this place
};

}  // namespace

result<block> parse_template(std::string_view source, std::size_t max_depth) {
  auto tokens = tokenize_template(source);
  if (!tokens) return tl::unexpected(tokens.error());
  return parser(std::move(*tokens), max_depth).run();
}

}  // namespace troupe::jinja
