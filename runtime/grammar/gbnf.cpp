// llama.cpp's grammars/README.md.
#include <vector>

#include "runtime/grammar/ebnf.hpp"
#include "runtime/grammar/ebnf_reader.hpp"

namespace troupe::grammar {

namespace {

constexpr std::size_t most_repeats_of_one = 16;  // they nest without brackets

class gbnf_parser {
 public:
  gbnf_parser(std::string_view text, const grammar_limits& limits) : reader_(text, limits), rules_(limits) {}

  result<grammar_builder> parse() {
    space(true);
    while (!reader_.at_end()) {
      const std::size_t line = reader_.line();
      const std::string name = reader_.name("-");
      if (name.empty()) return reader_.invalid("a rule's name is missing");
      space(false);
      if (!reader_.take_if("::=")) return reader_.invalid("'::=' is missing after '" + name + "'");
      space(true);
      const auto body = alternatives(0);
      if (!body) return tl::unexpected(body.error());
      if (auto defined = rules_.define(name, *body, line, false); !defined)
        return tl::unexpected(defined.error());
      if (!reader_.at_end() && reader_.peek() != '\n' && reader_.peek() != '\r')
        return reader_.invalid("an unexpected '" + std::string(1, reader_.peek()) + "'");
      space(true);
    }
    return rules_.build("root");
  }

 private:
  using expression = result<ebnf_rules::expression_id>;

  void space(bool lines) {
    for (;;) {
      if (reader_.peek() == '#') reader_.skip_line();
      const char c = reader_.peek();
      if (reader_.at_end() || !(c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r')))) return;
      reader_.take();
    }
  }

  // A rule ends with its line, except in brackets and beside a '|'.
  void space_before_bar(bool lines) {
    const ebnf_reader before = reader_;
    space(true);
    if (lines || reader_.peek() == '|') return;
    reader_ = before;
    space(false);
  }

  expression alternatives(std::size_t depth) {
    if (auto entered = reader_.enter(depth); !entered) return tl::unexpected(entered.error());
    std::vector<ebnf_rules::expression_id> parts;
    do {
      space(true);
      auto part = sequence(depth);
      if (!part) return part;
      parts.push_back(*part);
      space_before_bar(depth > 0);
    } while (reader_.take_if("|"));
    return rules_.alternatives(parts);
  }

  bool starts_item() const {
    const char c = reader_.peek();
    return !reader_.at_end() && c != '|' && c != ')' && c != '\n' && c != '\r';
  }

  expression sequence(std::size_t depth) {
    std::vector<ebnf_rules::expression_id> parts;
    for (space(depth > 0); starts_item(); space(depth > 0)) {
      auto part = item(depth);
      if (!part) return part;
      auto counted = repeated(*part);
      if (!counted) return counted;
      parts.push_back(*counted);
    }
    return rules_.sequence(parts);
  }

  expression item(std::size_t depth) {
    const char c = reader_.peek();
    if (c == '"') return literal();
    if (c == '[') return char_class();
    if (c == '<') return reader_.unsupported("a token by name is");
    if (reader_.take_if(".")) return rules_.terminal(rules_.regex().code_points(all_code_points()));
    if (reader_.take_if("(")) {
      auto body = alternatives(depth + 1);
      if (body && !reader_.take_if(")")) return reader_.invalid("a '(' without its ')'");
      return body;
    }
    const std::size_t line = reader_.line();
    const std::string name = reader_.name("-");
    if (name.empty()) return reader_.invalid("an unexpected '" + std::string(1, c) + "'");
    return rules_.reference(name, line);
  }

  expression literal() {
    reader_.take();
    std::string text;
    while (!reader_.take_if("\"")) {
      const auto c = reader_.character();
      if (!c) return tl::unexpected(c.error());
      text += encode_utf8(*c);
    }
    return rules_.terminal(rules_.regex().literal(text));
  }

  expression char_class() {
    reader_.take();
    const bool negated = reader_.take_if("^");
    std::vector<code_point_range> ranges;
    while (!reader_.take_if("]")) {
      const auto first = reader_.character();
      if (!first) return tl::unexpected(first.error());
      auto last = first;
      if (reader_.peek() == '-' && reader_.peek(1) != ']') {
        reader_.take();
        last = reader_.character();
        if (!last) return tl::unexpected(last.error());
        if (*last < *first) return reader_.invalid("a range from greater to less");
      }
      ranges.push_back({*first, *last});
    }
    const code_point_set set = normalized(std::move(ranges));
    return rules_.terminal(rules_.regex().code_points(negated ? complement(set) : set));
  }

  expression repeated(ebnf_rules::expression_id body) {
    for (std::size_t times = 0;; ++times) {
      if (times > most_repeats_of_one) return reader_.invalid("too many repeats of one item");
      if (reader_.take_if("*")) {
        body = rules_.repeat(body, 0, unbounded);
      } else if (reader_.take_if("+")) {
        body = rules_.repeat(body, 1, unbounded);
      } else if (reader_.take_if("?")) {
        body = rules_.repeat(body, 0, 1);
      } else if (reader_.take_if("{")) {
        auto counted = braces(body);
        if (!counted) return counted;
        body = *counted;
      } else {
        return body;
      }
    }
  }

  expression braces(ebnf_rules::expression_id body) {
    space(false);
    const auto min = reader_.peek() == ',' ? result<std::uint32_t>(0) : reader_.number();
    if (!min) return tl::unexpected(min.error());
    space(false);
    std::uint32_t max = *min;
    if (reader_.take_if(",")) {
      space(false);
      max = unbounded;
      if (reader_.peek() != '}') {
        const auto most = reader_.number();
        if (!most) return tl::unexpected(most.error());
        max = *most;
      }
      space(false);
    }
    if (!reader_.take_if("}")) return reader_.invalid("a '{' without its '}'");
    if (max < *min) return reader_.invalid("a repeat from more to less");
    return rules_.repeat(body, *min, max);
  }

  ebnf_reader reader_;
  ebnf_rules rules_;
};

}  // namespace

result<grammar_builder> gbnf_grammar(std::string_view text, const grammar_limits& limits) {
  if (text.size() > limits.max_source_bytes)
    return tl::unexpected(exceeded("bytes in a grammar", limits.max_source_bytes, "max_source_bytes"));
  return gbnf_parser(text, limits).parse();
}

result<grammar_builder> ebnf_grammar(std::string_view text, const grammar_limits& limits) {
  return text.find("::=") != std::string_view::npos ? gbnf_grammar(text, limits) : lark_grammar(text, limits);
}

}  // namespace troupe::grammar
