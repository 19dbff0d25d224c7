// The grammar language of Lark (docs/grammar.md of lark-parser/lark), as far as it speaks of texts, not of
// trees.
#include <array>
#include <utility>
#include <vector>

#include "runtime/grammar/notations/ebnf.hpp"
#include "runtime/grammar/notations/ebnf_reader.hpp"
#include "runtime/grammar/regex/regex_syntax.hpp"

namespace troupe::grammar {

namespace {

constexpr std::array<std::string_view, 2> lark_comments{"//", "#"};

// lark/grammars/common.lark, as regular expressions.
constexpr std::array<std::pair<std::string_view, std::string_view>, 26> common_terminals{
    {{"DIGIT", "[0-9]"},
     {"HEXDIGIT", "[a-fA-F0-9]"},
     {"INT", "[0-9]+"},
     {"SIGNED_INT", "[+-]?[0-9]+"},
     {"DECIMAL", R"([0-9]+\.[0-9]*|\.[0-9]+)"},
     {"FLOAT", R"([0-9]+[eE][+-]?[0-9]+|([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)"},
     {"SIGNED_FLOAT", R"([+-]?([0-9]+[eE][+-]?[0-9]+|([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?))"},
     {"NUMBER", R"([0-9]+|[0-9]+[eE][+-]?[0-9]+|([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)"},
     {"SIGNED_NUMBER", R"([+-]?([0-9]+|[0-9]+[eE][+-]?[0-9]+|([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?))"},
     {"ESCAPED_STRING", R"("([^"\\\n]|\\.)*")"},
     {"LCASE_LETTER", "[a-z]"},
     {"UCASE_LETTER", "[A-Z]"},
     {"LETTER", "[A-Za-z]"},
     {"WORD", "[A-Za-z]+"},
     {"CNAME", "[_A-Za-z][_A-Za-z0-9]*"},
     {"WS_INLINE", R"([ \t]+)"},
     {"WS", R"([ \t\f\r\n]+)"},
     {"CR", R"(\r)"},
     {"LF", R"(\n)"},
     {"NEWLINE", R"((\r?\n)+)"},
     {"SH_COMMENT", R"(#[^\n]*)"},
     {"CPP_COMMENT", R"(//[^\n]*)"},
     {"C_COMMENT", R"(/\*([^*]|\*+[^*/])*\*+/)"},
     {"SQL_COMMENT", R"(--[^\n]*)"},
     {"_STRING_INNER", ".*"},
     {"_EXP", "[eE][+-]?[0-9]+"}}};

bool is_terminal_name(std::string_view name) {
  const std::size_t first = name.find_first_not_of('_');
  return first != std::string_view::npos && name[first] >= 'A' && name[first] <= 'Z';
}

class lark_parser {
 public:
  lark_parser(std::string_view text, const grammar_limits& limits)
      : limits_(limits), reader_(text, limits, lark_comments), rules_(limits) {}

  result<grammar_builder> parse() {
    for (reader_.space(true); !reader_.at_end(); reader_.space(true)) {
      auto read = reader_.peek() == '%' ? directive() : rule();
      if (!read) return tl::unexpected(read.error());
      reader_.space(false);
      if (auto ended = reader_.line_end(); !ended) return tl::unexpected(ended.error());
    }
    return rules_.build("start");
  }

 private:
  using expression = result<ebnf_rules::expression_id>;

  result<void> rule() {
    const std::size_t line = reader_.line();
    for (const std::string_view shape_of_tree : {"?!", "!?", "?", "!"})
      if (reader_.take_if(shape_of_tree)) break;
    const std::string name = reader_.name("");
    if (name.empty()) return reader_.invalid("a rule's name is missing");
    if (reader_.peek() == '{') return reader_.unsupported("a template is");
    if (reader_.peek() == '[') return reader_.unsupported("a rule's attribute is");
    if (reader_.take_if(".")) {  // a priority
      reader_.take_if("-");
      if (auto priority = reader_.number(); !priority) return tl::unexpected(priority.error());
    }
    reader_.space(false);
    if (!reader_.take_if(":")) return reader_.invalid("':' is missing after '" + name + "'");
    const auto body = alternatives(0);
    if (!body) return tl::unexpected(body.error());
    return rules_.define(name, *body, line, is_terminal_name(name));
  }

  result<void> directive() {
    if (reader_.take_if("%ignore")) {
      const auto body = alternatives(0);
      if (!body) return tl::unexpected(body.error());
      // A name of its own makes what is ignored regular like any terminal.
      const std::string name = "%ignore " + std::to_string(reader_.line());
      if (auto defined = rules_.define(name, *body, reader_.line(), true); !defined) return defined;
      rules_.ignore(rules_.reference(name, reader_.line()));
      return {};
    }
    if (reader_.take_if("%import")) return import();
    reader_.take();
    return reader_.unsupported("%" + reader_.name("") + " is");
  }

  // %import common.NAME, %import common.NAME -> OTHER, %import common (A, B)
  result<void> import() {
    reader_.space(false);
    if (!reader_.take_if("common")) return reader_.unsupported("an import from other than common is");
    reader_.space(false);
    if (reader_.take_if("(")) {
      do {
        reader_.space(true);
        const std::string name = reader_.name("");
        if (auto done = define_common(name, name); !done) return done;
        reader_.space(true);
      } while (reader_.take_if(","));
      if (!reader_.take_if(")")) return reader_.invalid("a '(' without its ')'");
      return {};
    }
    if (!reader_.take_if(".")) return reader_.invalid("a '.' is missing after 'common'");
    const std::string name = reader_.name("");
    std::string alias = name;
    reader_.space(false);
    if (reader_.take_if("->")) {
      reader_.space(false);
      alias = reader_.name("");
    }
    return define_common(name, alias);
  }

  result<void> define_common(const std::string& name, const std::string& alias) {
    for (const auto& [known, pattern] : common_terminals) {
      if (known != name) continue;
      const auto r = parse_regex(rules_.regex(), pattern, {.steps = &steps_}, limits_);
      if (!r) return tl::unexpected(r.error());
      return rules_.define(alias, rules_.terminal(*r), reader_.line(), true);
    }
    return reader_.invalid("common has no '" + name + "'");
  }

  expression alternatives(std::size_t depth) {
    if (auto entered = reader_.enter(depth); !entered) return tl::unexpected(entered.error());
    std::vector<ebnf_rules::expression_id> parts;
    do {
      auto part = sequence(depth);
      if (!part) return part;
      parts.push_back(*part);
      reader_.space_before_bar(depth > 0);
    } while (reader_.take_if("|"));
    return rules_.alternatives(parts);
  }

  bool starts_item() const {
    const char c = reader_.peek();
    return !reader_.at_end() && c != '|' && c != ')' && c != ']' && c != '\n' && c != '\r';
  }

  expression sequence(std::size_t depth) {
    std::vector<ebnf_rules::expression_id> parts;
    for (reader_.space(depth > 0); starts_item(); reader_.space(depth > 0)) {
      if (reader_.take_if("->")) {  // a name in the tree
        reader_.space(false);
        if (reader_.name("").empty()) return reader_.invalid("a name is missing after '->'");
        continue;
      }
      auto part = item(depth);
      if (!part) return part;
      if (const auto& failure = rules_.builder().failure()) return tl::unexpected(*failure);
      auto counted = repeated(*part);
      if (!counted) return counted;
      parts.push_back(*counted);
    }
    return rules_.sequence(parts);
  }

  expression item(std::size_t depth) {
    const char c = reader_.peek();
    if (c == '"') return literal();
    if (c == '/') return pattern();
    if (c == '<') return reader_.unsupported("a token by name is");
    if (c == '%') return reader_.unsupported("an embedded grammar is");
    const std::size_t line = reader_.line();
    if (c == '(' || c == '[') {
      reader_.take();
      auto body = alternatives(depth + 1);
      const char closing = c == '(' ? ')' : ']';
      if (body && !reader_.take_if({&closing, 1})) return reader_.unclosed(c, closing, line);
      return body && c == '[' ? expression(rules_.repeat(*body, 0, 1)) : body;
    }
    const std::string name = reader_.name("");
    if (name.empty()) return reader_.invalid("an unexpected '" + std::string(1, c) + "'");
    if (reader_.peek() == '{') return reader_.unsupported("a template is");
    return rules_.reference(name, line);
  }

  result<std::vector<std::uint32_t>> quoted() {
    if (!reader_.take_if("\"")) return reader_.invalid("a '\"' is missing");
    constexpr std::string_view escapes = "nrtfxuU\\\"";  // any other backslash means itself
    std::vector<std::uint32_t> text;
    while (!reader_.take_if("\"")) {
      if (reader_.peek() == '\\' && escapes.find(reader_.peek(1)) == std::string_view::npos)
        text.push_back(static_cast<unsigned char>(reader_.take()));
      const auto c = reader_.character();
      if (!c) return tl::unexpected(c.error());
      text.push_back(*c);
    }
    return text;
  }

  // "text", "text"i, "a".."z"
  expression literal() {
    const auto text = quoted();
    if (!text) return tl::unexpected(text.error());
    regex_store& regex = rules_.regex();
    if (reader_.take_if("..")) {
      const auto last = quoted();
      if (!last) return tl::unexpected(last.error());
      if (text->size() != 1 || last->size() != 1 || (*last)[0] < (*text)[0])
        return reader_.invalid("a range needs two characters in order");
      return rules_.terminal(regex.code_points(normalized({{(*text)[0], (*last)[0]}})));
    }
    const bool any_case = reader_.take_if("i");
    std::vector<regex_id> parts;
    for (const std::uint32_t c : *text) {
      const code_point_set one{{c, c}};
      parts.push_back(regex.code_points(any_case ? with_both_cases(one) : one));
    }
    return rules_.terminal(regex.concat(parts));
  }

  // /pattern/flags
  expression pattern() {
    reader_.take();
    std::string text;
    while (!reader_.take_if("/")) {
      if (reader_.at_end() || reader_.peek() == '\n') return reader_.invalid("a '/' without its end");
      if (reader_.take_if("\\/")) {
        text += '/';
        continue;
      }
      if (reader_.peek() == '\\') text += reader_.take();
      text += reader_.take();
    }
    regex_options options{.steps = &steps_};
    for (const char flag : reader_.name("")) {
      if (flag == 'i') options.case_insensitive = true;
      if (flag == 's') options.dot_matches_new_line = true;
      if (flag != 'i' && flag != 's' && flag != 'u')
        return reader_.unsupported("the flag " + std::string(1, flag) + " is");
    }
    const std::size_t line = reader_.line();
    auto r = parse_regex(rules_.regex(), text, options, limits_);
    if (!r) {
      r.error().message = "grammar, line " + std::to_string(line) + ": " + r.error().message;
      return tl::unexpected(r.error());
    }
    return rules_.terminal(*r);
  }

  expression repeated(ebnf_rules::expression_id body) {
    for (std::size_t times = 0;; ++times) {
      if (times > ebnf_reader::most_repeats_of_one) return reader_.invalid("too many repeats of one item");
      reader_.space_before_any("*+?~");
      if (const auto sign = reader_.repeat_sign()) {
        body = rules_.repeat(body, sign->min, sign->max);
      } else {
        if (!reader_.take_if("~")) return body;
        auto counted = counts(body);
        if (!counted) return counted;
        body = *counted;
      }
    }
  }

  expression counts(ebnf_rules::expression_id body) {
    reader_.space(false);
    const auto min = reader_.number();
    if (!min) return tl::unexpected(min.error());
    auto max = min;
    if (reader_.take_if("..")) max = reader_.number();
    if (!max) return tl::unexpected(max.error());
    if (*max < *min) return reader_.invalid("a repeat from more to less");
    return rules_.repeat(body, *min, *max);
  }

  const grammar_limits& limits_;
  step_budget steps_{limits_.max_compile_steps};  // of its expressions
  ebnf_reader reader_;
  ebnf_rules rules_;
};

}  // namespace

result<grammar_builder> lark_grammar(std::string_view text, const grammar_limits& limits) {
  if (auto sized = check_ebnf_size(text, limits); !sized) return tl::unexpected(sized.error());
  return lark_parser(text, limits).parse();
}

}  // namespace troupe::grammar
