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
    if (reader_.unknown()) return tl::unexpected(*reader_.unknown());
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
    static constexpr std::string_view outside[] = {"include", "import", "from",       "extends", "block",
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
    if (reader_.take_name("call")) return call_block(made);
    if (reader_.take_name("filter")) return filter_block(made);
    if (reader_.take_name("with")) return with_block(made);
    if (reader_.is_name("break") || reader_.is_name("continue")) {
      made.what = reader_.next().text == "break" ? statement_kind::break_loop : statement_kind::continue_loop;
      if (loops_ == 0) reader_.complain("'break' and 'continue' belong into a loop");
      return end_block();
    }
    // Marks the assistant's words for training. Hugging Face makes its body that of a call: a scope of its
    // own, which no loop can be left from.
    if (reader_.take_name("generation")) {
      end_block();
      made.what = statement_kind::group;
      made.body = outside_loops({"endgeneration"});
      return end_tag("endgeneration");
    }
    unexpected();
  }

  // Statements that no loop around them can be left from.
  block outside_loops(std::initializer_list<std::string_view> ends) {
    const auto loops = std::exchange(loops_, 0);
    auto statements = until(ends);
    loops_ = loops;
    return statements;
  }

  void if_else(statement& made) {
    const auto unknown = reader_.unknown();
    branches(made);
    reader_.set_unknown(unknown);
  }

  void branches(statement& made) {
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

  // A name, one in a namespace, or names with commas between them, which may be in parentheses.
  target parse_target(bool attributes) {
    auto first = target_part(attributes);
    if (!reader_.is_symbol(",")) return first;
    target bound;
    bound.unpack = true;
    bound.parts.push_back(std::move(first));
    while (!reader_.failed() && reader_.take_symbol(",")) {
      const bool name = reader_.peek().what == token::kind::name && !reader_.is_name("in");
      if (name || reader_.is_symbol("(")) bound.parts.push_back(target_part(false));
    }
    return bound;
  }

  target target_part(bool attributes) {
    if (reader_.take_symbol("(")) {
      const token_reader::level level(reader_);
      auto inner = reader_.failed() ? target() : parse_target(false);
      reader_.expect_symbol(")");
      return inner;
    }
    target bound;
    bound.name = assignable();
    if (attributes && reader_.take_symbol(".")) bound.attribute = reader_.expect_name("an attribute's name");
    return bound;
  }

  std::string assignable() {
    const auto name = reader_.expect_name("a name");
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
    made.body = outside_loops({"endset"});
    end_tag("endset");
  }

  void macro_definition(statement& made) {
    made.what = statement_kind::macro_definition;
    macro defined;
    defined.name = reader_.expect_name("the macro's name");
    reader_.expect_symbol("(");
    parameters(defined);
    end_block();
    made.defined = with_body(std::move(defined), "endmacro");
  }

  // Up to the closing parenthesis.
  void parameters(macro& defined) {
    while (!reader_.failed() && !reader_.take_symbol(")")) {
      if (!defined.parameters.empty()) reader_.expect_symbol(",");
      auto& parameter = defined.parameters.emplace_back();
      parameter.name = reader_.expect_name("a parameter's name");
      if (reader_.take_symbol("=")) parameter.preset = parse_expression(reader_);
    }
  }

  std::shared_ptr<const macro> with_body(macro defined, std::string_view end) {
    const auto begin = reader_.position();
    defined.body = std::make_shared<const block>(outside_loops({end}));
    // A parameter of that name is one like others.
    const auto asks_for = [&](std::string_view name) {
      return reader_.has_named(begin, name) && !defined.has_parameter(name);
    };
    defined.takes_caller = asks_for("caller");
    defined.takes_more = asks_for("varargs");
    defined.takes_named = asks_for("kwargs");
    end_tag(end);
    return std::make_shared<const macro>(std::move(defined));
  }

  void call_block(statement& made) {
    made.what = statement_kind::call_block;
    macro caller;
    caller.name = "caller";
    if (reader_.take_symbol("(")) parameters(caller);
    made.given = parse_call(reader_, "caller", caller_variable);
    end_block();
    made.defined = with_body(std::move(caller), "endcall");
  }

  void filter_block(statement& made) {
    made.what = statement_kind::filter_block;
    made.filters = parse_filter_chain(reader_);
    end_block();
    made.body = outside_loops({"endfilter"});
    end_tag("endfilter");
  }

  void with_block(statement& made) {
    made.what = statement_kind::with_block;
    while (!reader_.failed() && reader_.peek().what != token::kind::block_end) {
      if (!made.bindings.empty()) reader_.expect_symbol(",");
      auto bound = target_part(false);
      reader_.expect_symbol("=");
      made.bindings.emplace_back(std::move(bound), parse_expression(reader_));
    }
    end_block();
    made.body = until({"endwith"});
    end_tag("endwith");
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
