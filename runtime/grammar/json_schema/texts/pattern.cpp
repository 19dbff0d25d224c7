#include "runtime/grammar/json_schema/texts/pattern.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "runtime/grammar/limits.hpp"
#include "runtime/grammar/regex/unicode_properties.hpp"
#include "runtime/utf8.hpp"

namespace troupe::json_schema {
namespace {

using kind = pattern_node::kind;
using code_set = grammar::code_point_set;
using grammar::complement;

constexpr std::uint32_t max_code_point = 0x10ffff;

const code_set digits{{'0', '9'}};
const code_set word_characters{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
// ECMA-262, WhiteSpace and LineTerminator.
const code_set white_space{{'\t', '\r'},     {' ', ' '},       {0xa0, 0xa0},     {0x1680, 0x1680},
                           {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f},
                           {0x3000, 0x3000}, {0xfeff, 0xfeff}};
const code_set line_terminators{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

// The code points of UTF-8 text that a JSON reader has checked.
std::vector<std::uint32_t> code_points_of(std::string_view text) {
  std::vector<std::uint32_t> out;
  while (const auto first = first_code_point(text)) {
    out.push_back(first->value);
    text.remove_prefix(first->size);
  }
  return out;
}

class pattern_parser {
 public:
  pattern_parser(std::string_view text, const pattern_limits& limits)
      : text_(code_points_of(text)), limits_(limits) {}

  result<pattern> parse() {
    out_.root = alternation();
    if (!failure_ && at_ < text_.size()) wrong("an unmatched )");
    if (failure_) return tl::unexpected(*failure_);
    return std::move(out_);
  }

 private:
  bool more() const { return !failure_ && at_ < text_.size(); }
  bool next_is(char32_t c, std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() && text_[at_ + ahead] == c;
  }
  bool take(char32_t c) { return next_is(c) && ++at_ > 0; }
  bool take(std::u32string_view word) {
    for (std::size_t i = 0; i < word.size(); ++i)
      if (!next_is(word[i], i)) return false;
    at_ += word.size();
    return true;
  }
  void wrong(const char* what) {
    if (!failure_) failure_ = error{error_code::invalid_argument, std::string("the pattern has ") + what};
  }
  void unsupported(const char* what) {
    if (!failure_) failure_ = error{error_code::unsupported, std::string("the pattern has ") + what};
  }

  pattern_index add(pattern_node node) {
    for (const pattern_index child : node.children) {
      node.has_anchor |= out_.nodes[child].has_anchor;
      node.has_look |= out_.nodes[child].has_look;
    }
    out_.nodes.push_back(std::move(node));
    return static_cast<pattern_index>(out_.nodes.size() - 1);
  }
  pattern_index add_set(code_set set) {
    pattern_node node;
    node.what = kind::set;
    node.set = grammar::normalized(std::move(set));
    return add(std::move(node));
  }
  pattern_index add_list(kind what, std::vector<pattern_index> children) {
    if (children.size() == 1) return children.front();
    pattern_node node;
    node.what = what;
    node.children = std::move(children);
    return add(std::move(node));
  }
  pattern_index add_anchor(kind what) {
    pattern_node node;
    node.what = what;
    node.has_anchor = true;
    return add(std::move(node));
  }

  pattern_index alternation() {
    if (++depth_ > limits_.max_depth) {
      if (!failure_) failure_ = grammar::exceeded("levels of groups", limits_.max_depth, "max_depth");
      return 0;
    }
    std::vector<pattern_index> branches{concatenation()};
    while (more() && take('|')) branches.push_back(concatenation());
    --depth_;
    return add_list(kind::alternation, std::move(branches));
  }

  pattern_index concatenation() {
    std::vector<pattern_index> parts;
    while (more() && !next_is('|') && !next_is(')')) parts.push_back(quantified(atom()));
    return add_list(kind::concat, std::move(parts));
  }

  // One at most: a quantifier after a quantifier has nothing to repeat, and nesting would have no limit.
  pattern_index quantified(pattern_index what) {
    pattern_node node;
    node.what = kind::repeat;
    if (!more() || !quantifier(node)) return what;
    if (next_is('+')) unsupported("a possessive quantifier");
    take('?');  // lazy or greedy: the same texts
    if (pattern_node second; more() && quantifier(second)) wrong("nothing to repeat");
    node.children = {what};
    return add(std::move(node));
  }

  bool quantifier(pattern_node& node) {
    if (take('*'))
      node.max = unbounded;
    else if (take('+'))
      node.min = 1, node.max = unbounded;
    else if (take('?'))
      node.max = 1;
    else
      return bounds(node);
    return true;
  }

  // {n}, {n,} or {n,m}; anything else after { is plain text.
  bool bounds(pattern_node& node) {
    const std::size_t start = at_;
    if (!take('{')) return false;
    const auto min = number();
    auto max = min;
    if (min && take(',')) max = next_is('}') ? unbounded : number();
    if (!min || !max || !take('}')) {
      at_ = start;
      return false;
    }
    if (*min > *max) wrong("a quantifier out of order");
    if (*min > limits_.max_repeat || (*max != unbounded && *max > limits_.max_repeat))
      unsupported("a quantifier that is too large");
    node.min = *min;
    node.max = *max;
    return true;
  }

  std::optional<std::uint32_t> number() {
    std::optional<std::uint32_t> out;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9')
      out = std::min<std::uint32_t>(out.value_or(0), limits_.max_repeat) * 10 + (text_[at_++] - '0');
    return out;
  }

  pattern_index atom() {
    if (take('(')) return group();
    if (take('[')) return add_set(bracket());
    if (take('^')) return add_anchor(kind::start);
    if (take('$')) return add_anchor(kind::end);
    if (take('.')) return add_set(complement(line_terminators));
    if (take('\\')) return escape();
    if (next_is('*') || next_is('+') || next_is('?')) wrong("nothing to repeat");
    const std::uint32_t c = text_[at_++];
    return add_set({{c, c}});
  }

  pattern_index group() {
    bool looks = false;
    bool negative = false;
    if (take(U"?="))
      looks = true;
    else if (take(U"?!"))
      looks = negative = true;
    else if (next_is('?') && next_is('<', 1) && (next_is('=', 2) || next_is('!', 2)))
      unsupported("a look-behind");
    else if (take(U"?<") || take(U"?P<"))
      name();
    else if (next_is('?') && !take(U"?:"))
      unsupported("a group of an unknown kind");
    const pattern_index inner = alternation();
    if (!take(')')) wrong("an unmatched (");
    if (!looks || failure_) return inner;
    pattern_node node;
    node.what = kind::look_ahead;
    node.negative = negative;
    node.children = {inner};
    node.has_look = true;
    return add(std::move(node));
  }

  void name() {
    while (at_ < text_.size() && !next_is('>')) ++at_;
    if (!take('>')) wrong("a group's name without end");
  }

  pattern_index escape() {
    if (!more()) {
      wrong("a \\ at its end");
      return 0;
    }
    const std::uint32_t c = text_[at_];
    if (c == 'b' || c == 'B') unsupported("a word boundary");
    if ((c >= '1' && c <= '9') || c == 'k') unsupported("a back-reference");
    if (c == 'A' || c == 'z' || c == 'Z') {
      ++at_;
      return add_anchor(c == 'A' ? kind::start : kind::end);
    }
    if (auto set = class_escape()) return add_set(std::move(*set));
    const std::uint32_t single = character_escape();
    return add_set({{single, single}});
  }

  std::optional<code_set> class_escape() {
    const std::uint32_t c = text_[at_];
    if (c == 'p' || c == 'P') return unicode_property();
    const code_set* set = c == 'd' || c == 'D'   ? &digits
                          : c == 'w' || c == 'W' ? &word_characters
                          : c == 's' || c == 'S' ? &white_space
                                                 : nullptr;
    if (set == nullptr) return std::nullopt;
    ++at_;
    return c < 'a' ? complement(*set) : *set;
  }

  // \\p{Lu}, \\P{General_Category=Letter}, \\p{gc=L}, \\pL.
  std::optional<code_set> unicode_property() {
    const bool negated = text_[at_++] == 'P';
    std::string property;
    if (take('{')) {
      while (at_ < text_.size() && !next_is('}')) property += static_cast<char>(std::min(text_[at_++], 127U));
      if (!take('}')) wrong("a property's name without end");
    } else if (at_ < text_.size()) {
      property += static_cast<char>(std::min(text_[at_++], 127U));
    }
    const std::size_t equals = property.find('=');
    const std::string_view name = std::string_view(property).substr(0, equals);
    if (equals != std::string::npos && (name == "General_Category" || name == "gc"))
      property.erase(0, equals + 1);
    auto set = grammar::unicode_class(property);
    if (!set) set = grammar::unicode_property(property);
    if (!set) unsupported("an unknown Unicode property");
    return set && negated ? complement(*set) : set.value_or(code_set{});
  }

  std::uint32_t character_escape() {
    const std::uint32_t c = text_[at_++];
    switch (c) {
      case 't':
        return '\t';
      case 'n':
        return '\n';
      case 'v':
        return '\v';
      case 'f':
        return '\f';
      case 'r':
        return '\r';
      case '0':
        if (more() && text_[at_] >= '0' && text_[at_] <= '9') unsupported("an octal escape");
        return 0;
      case 'c':
        return more() ? text_[at_++] % 32 : c;
      case 'x':
        return hexadecimal(2).value_or(c);
      case 'u':
        return unicode_escape().value_or(c);
      default:
        return c;
    }
  }

  std::optional<std::uint32_t> unicode_escape() {
    const std::size_t start = at_;
    if (take('{')) {
      std::uint32_t value = 0;
      while (const auto digit = hexadecimal(1)) value = std::min(value * 16 + *digit, max_code_point + 1);
      if (take('}') && value <= max_code_point) return value;
      at_ = start;
      return std::nullopt;
    }
    const auto high = hexadecimal(4);
    if (!high || *high < 0xd800 || *high > 0xdbff) return high;
    const std::size_t after = at_;
    if (take(U"\\u")) {
      const auto low = hexadecimal(4);
      if (low && *low >= 0xdc00 && *low <= 0xdfff)
        return 0x10000 + ((*high - 0xd800) << 10U) + (*low - 0xdc00);
    }
    at_ = after;
    return high;
  }

  std::optional<std::uint32_t> hexadecimal(std::size_t size) {
    if (at_ + size > text_.size()) return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const auto digit = grammar::hex_value(text_[at_ + i]);
      if (!digit) return std::nullopt;
      value = value * 16 + *digit;
    }
    at_ += size;
    return value;
  }

  // After [: to the ].
  code_set bracket() {
    const bool negated = take('^');
    code_set set;
    while (more() && !next_is(']')) {
      auto first = member(set);
      if (!next_is('-') || next_is(']', 1) || at_ + 1 >= text_.size()) {
        if (first) set.push_back({*first, *first});
        continue;
      }
      ++at_;
      const auto last = member(set);
      if (first && last) {
        if (*first > *last) wrong("a range out of order");
        set.push_back({*first, *last});
      } else {  // [\w-x]: the hyphen is a character
        set.push_back({'-', '-'});
        if (first) set.push_back({*first, *first});
        if (last) set.push_back({*last, *last});
      }
    }
    if (!take(']')) wrong("an unmatched [");
    set = grammar::normalized(std::move(set));
    return negated ? complement(set) : set;
  }

  // One code point, or none where it was a class such as \d, which is added to `set`.
  std::optional<std::uint32_t> member(code_set& set) {
    if (!take('\\')) return text_[at_++];
    if (!more()) {
      wrong("a \\ at its end");
      return 0;
    }
    if (take('b')) return '\b';
    if (take('-')) return '-';
    const auto escaped = class_escape();
    if (!escaped) return character_escape();
    set.insert(set.end(), escaped->begin(), escaped->end());
    return std::nullopt;
  }

  std::vector<std::uint32_t> text_;
  const pattern_limits& limits_;
  pattern out_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  std::optional<error> failure_;
};

}  // namespace

result<pattern> parse_pattern(std::string_view text, const pattern_limits& limits) {
  if (text.size() > limits.max_bytes)
    return tl::unexpected(grammar::exceeded("bytes in a pattern", limits.max_bytes, "max_source_bytes"));
  return pattern_parser(text, limits).parse();
}

}  // namespace troupe::json_schema
