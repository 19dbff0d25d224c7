#include "runtime/grammar/regex/regex_reader.hpp"

#include <algorithm>
#include <string_view>

#include "runtime/grammar/regex/unicode_properties.hpp"
#include "runtime/utf8.hpp"

namespace troupe::grammar {

namespace {

constexpr std::uint32_t most_regex_repeats = 1'000'000'000;
// To look through all code points, as the first does who asks for a property; to find a range of a class; to
// go through all letters that have another case.
constexpr std::uint64_t steps_per_property = 200'000;
constexpr std::uint64_t steps_per_range = 4, steps_per_case_search = 4096, steps_per_letter_search = 512;

bool is_digit(std::uint32_t c) { return c >= '0' && c <= '9'; }
bool is_letter(std::uint32_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

code_point_set united(std::initializer_list<std::string_view> names,
                      std::vector<code_point_range> more = {}) {
  for (const std::string_view name : names) {
    const auto set = unicode_class(name);
    if (set) more.insert(more.end(), set->begin(), set->end());
  }
  return normalized(std::move(more));
}

// Of a word, beside letters, digits and marks, for \w: '_', which Rust and Python have, and the joiners,
// which Rust alone has, but without which (and without marks) many languages have no words.
const std::vector<code_point_range> joins{{'_', '_'}, {0x200C, 0x200D}};
// What Rust's \w has besides and Python's has not, for \W: joiners, and letters in circles and squares.
const std::vector<code_point_range> joins_and_circled{
    {0x200C, 0x200D}, {0x24B6, 0x24E9}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};
const std::vector<code_point_range> separators{{0x1C, 0x1F}};  // white space of Python's alone

const std::vector<code_point_range> ascii_word{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};

struct posix_name {
  std::string_view name;
  std::vector<code_point_range> ranges;
};
const std::vector<posix_name>& posix_names() {
  static const std::vector<posix_name> names{{"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
                                             {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
                                             {"ascii", {{0, 0x7F}}},
                                             {"blank", {{'\t', '\t'}, {' ', ' '}}},
                                             {"cntrl", {{0, 0x1F}, {0x7F, 0x7F}}},
                                             {"digit", {{'0', '9'}}},
                                             {"graph", {{'!', '~'}}},
                                             {"lower", {{'a', 'z'}}},
                                             {"print", {{' ', '~'}}},
                                             {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
                                             {"space", {{9, 13}, {' ', ' '}}},
                                             {"upper", {{'A', 'Z'}}},
                                             {"word", ascii_word},
                                             {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}}};
  return names;
}

}  // namespace

result<regex_reader> regex_reader::make(std::string_view pattern, const regex_options& options,
                                        const grammar_limits& limits) {
  regex_reader reader(options, limits);
  while (!pattern.empty()) {
    const auto first = first_code_point(pattern);
    if (!first) return fail(error_code::invalid_argument, "regular expression: not UTF-8");
    reader.text_.push_back(first->value);
    pattern.remove_prefix(first->size);
  }
  return reader;
}

bool regex_reader::take_if(char c) {
  if (peek() != static_cast<unsigned char>(c)) return false;
  ++at_;
  return true;
}

bool regex_reader::take_if(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (peek(i) != static_cast<unsigned char>(text[i])) return false;
  at_ += text.size();
  return true;
}

tl::unexpected<error> regex_reader::invalid(std::string_view what) const {
  return fail(error_code::invalid_argument,
              "regular expression: " + std::string(what) + " at character " + std::to_string(at_));
}

tl::unexpected<error> regex_reader::unsupported(std::string_view what) const {
  return fail(error_code::unsupported, "regular expression: " + std::string(what) +
                                           " not supported, at character " + std::to_string(at_));
}

result<std::optional<std::uint32_t>> regex_reader::number() {
  if (!is_digit(peek())) return std::nullopt;
  std::uint64_t value = 0;
  while (is_digit(peek())) {
    value = value * 10 + (take() - '0');
    if (value > most_regex_repeats) return tl::unexpected(exceeded("repeats", most_regex_repeats, ""));
  }
  return static_cast<std::uint32_t>(value);
}

result<std::uint32_t> regex_reader::hexadecimal(std::size_t digits) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    const auto digit = hex_value(peek());
    if (!digit) return invalid("too few hexadecimal digits");
    value = value * 16 + *digit;
    ++at_;
  }
  return value;
}

result<std::uint32_t> regex_reader::braced_hexadecimal() {
  std::uint32_t value = 0;
  if (peek() == '}') return invalid("no hexadecimal digits");
  while (!take_if('}')) {
    const auto digit = hex_value(take());
    if (!digit) return invalid("no hexadecimal digit");
    value = value * 16 + *digit;
    if (value > 0x10FFFF) return invalid("no code point");
  }
  return value;
}

std::optional<code_point_set> regex_reader::perl_class(std::uint32_t c, bool is_denied) {
  switch (c) {
    case 'd':
      return is_denied ? united({"Nd"}) : code_point_set{{'0', '9'}};
    case 'w':
      return is_denied ? united({"L", "M", "N", "Pc"}, joins_and_circled)
                       : united({"L", "M", "Nd", "Nl"}, joins);
    case 's':
      return united({"White_Space"}, is_denied ? separators : std::vector<code_point_range>{});
    case 'D':
      return complement(*perl_class('d', !is_denied));
    case 'W':
      return complement(*perl_class('w', !is_denied));
    case 'S':
      return complement(*perl_class('s', !is_denied));
    default:
      return std::nullopt;
  }
}

result<code_point_set> regex_reader::property(bool negated) {
  std::string name;
  if (take_if('{')) {
    if (take_if('^')) negated = !negated;
    while (peek() != '}' && !at_end()) append_utf8(take(), name);
    if (!take_if('}')) return invalid("a class name without its end");
  } else if (!at_end()) {
    append_utf8(take(), name);
  }
  for (const std::string_view prefix : {"General_Category=", "gc="})
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  auto set = unicode_class(name);
  if (!set) {
    if (auto counted = spend(steps_per_property); !counted) return tl::unexpected(counted.error());
    set = unicode_property(name);
  }
  if (!set) return unsupported("the Unicode class '" + name + "' is");
  return negated ? complement(*set) : *set;
}

result<code_point_set> regex_reader::named_class(std::uint32_t c) {
  const auto known = perl_class(c, is_denied_);
  auto set = known ? *known : property(c == 'P');
  if (!set) return set;
  if (auto counted = spend(steps_per_range * set->size()); !counted) return tl::unexpected(counted.error());
  return set;
}

result<code_point_set> regex_reader::both_cases(const code_point_set& set) {
  const bool is_letter_alone = set.size() == 1 && set[0].first == set[0].last;
  if (is_letter_alone)
    if (const auto known = cases_.find(set[0].first); known != cases_.end()) return known->second;
  const std::uint64_t steps = is_letter_alone ? steps_per_letter_search : steps_per_case_search;
  if (auto counted = spend(steps); !counted) return tl::unexpected(counted.error());
  code_point_set both = with_both_cases(set);
  if (is_letter_alone) cases_.emplace(set[0].first, both);
  return both;
}

result<void> regex_reader::spend(std::uint64_t steps) {
  if ((shared_ != nullptr ? *shared_ : own_).spend(steps)) return {};
  return tl::unexpected(exceeded("steps to compile", limits_.max_compile_steps, "max_compile_steps"));
}

// After the backslash and this character: escapes that stand for one code point.
result<std::uint32_t> regex_reader::escaped_code_point(std::uint32_t c) {
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    case 'a':
      return 7;
    case '0':
      if (is_digit(peek())) return unsupported("an octal escape is");
      return 0;
    case 'x':
      if (take_if('{')) return braced_hexadecimal();
      return hexadecimal(2);
    case 'U':
      return hexadecimal(8);
    case 'u': {
      if (take_if('{')) return braced_hexadecimal();
      auto high = hexadecimal(4);
      // Two escapes may spell the halves of one code point.
      if (!high || *high < 0xD800 || *high > 0xDBFF || peek() != '\\' || peek(1) != 'u') return high;
      at_ += 2;
      const auto low = hexadecimal(4);
      if (!low) return low;
      if (*low < 0xDC00 || *low > 0xDFFF) return invalid("half a character");
      return 0x10000 + ((*high - 0xD800) << 10) + (*low - 0xDC00);
    }
    default:
      break;
  }
  if (is_digit(c)) return unsupported("a back-reference is");
  if (is_letter(c)) {
    --at_;
    return invalid("an unknown escape");
  }
  return c;
}

result<code_point_set> regex_reader::escape(bool in_class) {
  if (at_end()) return invalid("a backslash at the end");
  const std::uint32_t c = take();
  if (std::u32string_view(U"dDwWsSpP").find(static_cast<char32_t>(c)) != std::u32string_view::npos)
    return named_class(c);
  if (c == 'b' && in_class) return code_point_set{{8, 8}};
  if (c == 'k' && peek() == '<') return unsupported("a back-reference is");
  const auto point = escaped_code_point(c);
  if (!point) return tl::unexpected(point.error());
  if (*point > 0x10FFFF || (*point >= 0xD800 && *point <= 0xDFFF)) return invalid("no code point");
  return code_point_set{{*point, *point}};
}

// "[:alpha:]" inside of a class, after its '['.
result<std::optional<code_point_set>> regex_reader::posix_class() {
  if (peek() != ':') return std::nullopt;
  const std::size_t from = at_++;
  const bool negated = take_if('^');
  std::string name;
  while (is_letter(peek())) name.push_back(static_cast<char>(take()));
  if (!take_if(":]")) {
    at_ = from;
    return std::nullopt;
  }
  for (const posix_name& known : posix_names())
    if (known.name == name) {
      const code_point_set set = normalized(known.ranges);
      return negated ? complement(set) : set;
    }
  return unsupported("the class [:" + name + ":] is");
}

result<code_point_set> regex_reader::class_item(bool case_insensitive, std::size_t depth) {
  if (take_if('[')) {
    const auto posix = posix_class();
    if (!posix) return tl::unexpected(posix.error());
    if (*posix) return **posix;
    return char_class(case_insensitive, depth + 1);
  }
  if (take_if('\\')) return escape(true);
  const std::uint32_t c = take();
  return code_point_set{{c, c}};
}

result<code_point_set> regex_reader::char_class(bool case_insensitive, std::size_t depth) {
  if (depth > limits_.max_depth)
    return tl::unexpected(exceeded("levels of classes", limits_.max_depth, "max_depth"));
  const bool negated = take_if('^');
  if (negated) turn();
  std::vector<code_point_range> ranges;
  std::optional<code_point_set> left;  // of a set operation
  bool intersect = false, left_out = false;
  const auto operate = [&]() -> result<void> {
    if (auto counted = spend(steps_per_range * ranges.size()); !counted) return counted;
    code_point_set set = normalized(std::exchange(ranges, {}));
    if (case_insensitive) {
      auto both = both_cases(set);
      if (!both) return tl::unexpected(both.error());
      set = std::move(*both);
    }
    if (left) set = intersection(*left, intersect ? set : complement(set));
    left = std::move(set);
    return {};
  };
  for (bool first = true;; first = false) {
    if (at_end()) return invalid("a class without its ']'");
    if (peek() == ']' && !first) break;
    if (!first && (peek() == '&' || peek() == '-' || peek() == '~') && peek(1) == peek() && peek(2) != ']') {
      if (peek() == '~') return unsupported("the symmetric difference of classes is");
      if (auto done = operate(); !done) return tl::unexpected(done.error());
      if (left_out) turn();
      intersect = take() == '&';
      left_out = !intersect;
      if (left_out) turn();
      ++at_;
      continue;
    }
    const auto item = class_item(case_insensitive, depth);
    if (!item) return item;
    const bool single = item->size() == 1 && (*item)[0].first == (*item)[0].last;
    const bool to_hyphen = peek(1) == '-' && peek(2) == ']';  // [+--]
    if (peek() == '-' && peek(1) != ']' && (peek(1) != '-' || to_hyphen) && peek(1) != no_more) {
      if (!single) return invalid("a range from a class");
      ++at_;
      const auto last = class_item(case_insensitive, depth);
      if (!last) return last;
      if (last->size() != 1 || (*last)[0].first != (*last)[0].last) {
        return invalid("a range to a class");
      }
      if ((*last)[0].first < (*item)[0].first) return invalid("a range from greater to less");
      ranges.push_back({(*item)[0].first, (*last)[0].first});
      continue;
    }
    ranges.insert(ranges.end(), item->begin(), item->end());
  }
  ++at_;
  if (negated != left_out) turn();
  if (auto done = operate(); !done) return tl::unexpected(done.error());
  return negated ? complement(*left) : *left;
}

}  // namespace troupe::grammar
