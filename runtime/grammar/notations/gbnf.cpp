// llama.cpp's grammars/README.md.
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/grammar/notations/ebnf.hpp"
#include "runtime/grammar/notations/ebnf_reader.hpp"
#include "runtime/utf8.hpp"

namespace troupe::grammar {

namespace {

constexpr std::array<std::string_view, 1> gbnf_comments{"#"};

class gbnf_parser {
 public:
  gbnf_parser(std::string_view text, const grammar_limits& limits)
      : reader_(text, limits, gbnf_comments), rules_(limits) {}

  result<grammar_builder> parse() {
    reader_.space(true);
    while (!reader_.at_end()) {
      const std::size_t line = reader_.line();
      const std::string name = reader_.name("-");
      if (name.empty()) return reader_.invalid("a rule's name is missing");
      reader_.space(false);
      if (!reader_.take_if("::=")) return reader_.invalid("'::=' is missing after '" + name + "'");
      reader_.space(true);
      const auto body = alternatives(0);
      if (!body) return tl::unexpected(body.error());
      if (auto defined = rules_.define(name, *body, line, false); !defined)
        return tl::unexpected(defined.error());
      if (auto ended = reader_.line_end(); !ended) return tl::unexpected(ended.error());
      reader_.space(true);
    }
    return rules_.build("root");
  }

 private:
  using expression = result<ebnf_rules::expression_id>;

  expression alternatives(std::size_t depth) {
    if (auto entered = reader_.enter(depth); !entered) return tl::unexpected(entered.error());
    std::vector<ebnf_rules::expression_id> parts;
    do {
      reader_.space(true);
      auto part = sequence(depth);
      if (!part) return part;
      parts.push_back(*part);
      reader_.space_before_bar(depth > 0);
    } while (reader_.take_if("|"));
    return rules_.alternatives(parts);
  }

  bool starts_item() const {
    const char c = reader_.peek();
    return !reader_.at_end() && c != '|' && c != ')' && c != '\n' && c != '\r';
  }

  expression sequence(std::size_t depth) {
    std::vector<ebnf_rules::expression_id> parts;
    for (reader_.space(depth > 0); starts_item(); reader_.space(depth > 0)) {
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
    if (c == '[') return char_class();
    if (c == '<') return reader_.unsupported("a token by name is");
    if (reader_.take_if(".")) {
      if (!any_) any_ = rules_.terminal(rules_.regex().code_points(all_code_points()));
      return *any_;
    }
    const std::size_t line = reader_.line();
    if (reader_.take_if("(")) {
      auto body = alternatives(depth + 1);
      if (body && !reader_.take_if(")")) return reader_.unclosed('(', ')', line);
      return body;
    }
    const std::string name = reader_.name("-");
    if (name.empty()) return reader_.invalid("an unexpected '" + std::string(1, c) + "'");
    return rules_.reference(name, line);
  }

  expression literal() {
    const std::size_t line = reader_.line();
    reader_.take();
    std::string text;
    while (!reader_.take_if("\"")) {
      if (reader_.at_end()) return reader_.unclosed('"', '"', line);
      const auto c = reader_.character();
      if (!c) return tl::unexpected(c.error());
      append_utf8(*c, text);
    }
    return rules_.terminal(rules_.regex().literal(text));
  }

  expression char_class() {
    const std::size_t line = reader_.line();
    reader_.take();
    const bool negated = reader_.take_if("^");
    std::vector<code_point_range> ranges;
    while (!reader_.take_if("]")) {
      if (reader_.at_end()) return reader_.unclosed('[', ']', line);
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
      if (times > ebnf_reader::most_repeats_of_one) return reader_.invalid("too many repeats of one item");
      reader_.space_before_any("*+?{");
      if (const auto sign = reader_.repeat_sign()) {
        body = rules_.repeat(body, sign->min, sign->max);
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
    reader_.space(false);
    const auto min = reader_.peek() == ',' ? result<std::uint32_t>(0) : reader_.number();
    if (!min) return tl::unexpected(min.error());
    reader_.space(false);
    std::uint32_t max = *min;
    if (reader_.take_if(",")) {
      reader_.space(false);
      max = unbounded;
      if (reader_.peek() != '}') {
        const auto most = reader_.number();
        if (!most) return tl::unexpected(most.error());
        max = *most;
      }
      reader_.space(false);
    }
    if (!reader_.take_if("}")) return reader_.invalid("a '{' without its '}'");
    if (max < *min) return reader_.invalid("a repeat from more to less");
    return rules_.repeat(body, *min, max);
  }

  ebnf_reader reader_;
  ebnf_rules rules_;
  std::optional<ebnf_rules::expression_id> any_;  // '.'
};

// Whether the first rule is one of GBNF: "::=" may stand in the strings and comments of the other form, too.
bool begins_as_gbnf(std::string_view text, const grammar_limits& limits) {
  ebnf_reader reader(text, limits, gbnf_comments);
  reader.space(true);
  const std::string name = reader.name("-");
  reader.space(false);
  return !name.empty() && reader.starts_with("::=");
}

}  // namespace

result<grammar_builder> gbnf_grammar(std::string_view text, const grammar_limits& limits) {
  if (auto sized = check_ebnf_size(text, limits); !sized) return tl::unexpected(sized.error());
  return gbnf_parser(text, limits).parse();
}

result<grammar_builder> ebnf_grammar(std::string_view text, const grammar_limits& limits) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  const bool is_gbnf = begins_as_gbnf(text, limits);
  auto built = is_gbnf ? gbnf_grammar(text, limits) : lark_grammar(text, limits);
  if (!built && built.error().code != error_code::too_large)
    built.error().message += is_gbnf ? " (taken for GBNF, as its first rule has a '::=')"
                                     : " (taken for Lark, as its first rule has no '::=' like GBNF's)";
  return built;
}

}  // namespace troupe::grammar
