#include "runtime/grammar/json_schema/texts/json_text.hpp"

#include <fmt/format.h>

#include <vector>

namespace troupe::json_schema {
namespace {

using grammar::byte_set;
using grammar::code_point_set;
using grammar::unbounded;

bool is_escaped(std::uint32_t c) { return c < 0x20 || c == '"' || c == '\\'; }

std::string escape(std::uint32_t c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return fmt::format("\\u{:04x}", c);
  }
}

byte_set bytes_of(std::string_view members) {
  byte_set set;
  for (const char c : members) set.insert(static_cast<unsigned char>(c));
  return set;
}

const code_point_set& escaped_code_points() {
  static const code_point_set set{{0, 0x1f}, {'"', '"'}, {'\\', '\\'}};
  return set;
}

// \uXXXX of a code point, a pair of them beyond U+FFFF; no half of a pair alone.
regex_id unicode_escape(regex_store& store) {
  const regex_id hex =
      store.bytes(byte_set::range('0', '9') | byte_set::range('a', 'f') | byte_set::range('A', 'F'));
  const regex_id not_d = store.bytes(byte_set::range('0', '9') | bytes_of("abcefABCEF"));
  const regex_id d = store.bytes(bytes_of("dD"));
  const regex_id low_digit = store.bytes(byte_set::range('0', '7'));
  const regex_id high = store.concat({d, store.bytes(bytes_of("89abAB")), hex, hex});
  const regex_id low = store.concat({d, store.bytes(bytes_of("cdefCDEF")), hex, hex});
  const regex_id single =
      store.alternation({store.concat({not_d, hex, hex, hex}), store.concat({d, low_digit, hex, hex})});
  return store.concat(
      {store.literal("\\u"), store.alternation({single, store.concat({high, store.literal("\\u"), low})})});
}

}  // namespace

regex_id spell(regex_store& store, const code_point_set& set) {
  std::vector<std::string> escapes;
  for (const auto& range : grammar::intersection(set, escaped_code_points()))
    for (std::uint32_t c = range.first; c <= range.last; ++c) escapes.push_back(escape(c));
  static const code_point_set plain = grammar::complement(escaped_code_points());
  return store.alternation(
      {store.one_of(std::move(escapes)), store.code_points(grammar::intersection(set, plain))});
}

std::string spell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_escaped(byte))
      out += escape(byte);
    else
      out += c;
  }
  return out;
}

json_text::json_text(regex_store& store) {
  const regex_id spelled = spell(store, grammar::all_code_points());
  spelled_body = store.star(spelled);
  const regex_id plain = store.code_points(grammar::complement(escaped_code_points()));
  const regex_id escapes = store.concat({store.literal("\\"), store.bytes(bytes_of("\"\\/bfnrt"))});
  character = store.alternation({plain, escapes, unicode_escape(store)});
  any_body = store.star(character);

  const regex_id digit = store.bytes(byte_set::range('0', '9'));
  const regex_id zero = store.literal("0");
  const regex_id minus = store.optional(store.literal("-"));
  const regex_id point = store.literal(".");
  digits = store.star(digit);
  whole = store.alternation({zero, store.concat({store.bytes(byte_set::range('1', '9')), digits})});
  number = store.concat({minus, whole, store.optional(store.concat({point, store.plus(digit)}))});
  integer = store.concat({minus, whole, store.optional(store.literal(".0"))});
  plain_integer =
      store.alternation({zero, store.concat({minus, store.bytes(byte_set::range('1', '9')), digits})});
  make_scientific(store);
}

// No more than a double can be: others are read as infinite.
void json_text::make_scientific(regex_store& store) {
  const auto from_to = [&](char first, char last) {
    return store.bytes(byte_set::range(static_cast<unsigned char>(first), static_cast<unsigned char>(last)));
  };
  const regex_id digit = from_to('0', '9');
  const regex_id fraction = store.optional(store.concat({store.literal("."), store.plus(digit)}));
  const regex_id no_fraction = store.optional(store.literal(".0"));
  const regex_id first = from_to('1', '9');
  const regex_id short_whole =
      store.alternation({store.literal("0"), store.concat({first, store.repeat(digit, 0, 8)})});
  const regex_id e = store.bytes(bytes_of("eE"));
  const auto exponent = [&](regex_id sign, std::initializer_list<regex_id> numbers) {
    return store.concat({e, sign, store.optional(store.literal("0")), store.alternation(numbers)});
  };
  const regex_id plus = store.optional(store.literal("+"));
  const regex_id to_299 = exponent(
      plus, {store.repeat(digit, 1, 2), store.concat({from_to('1', '2'), store.repeat(digit, 2, 2)})});
  const regex_id to_307 = exponent(plus, {store.concat({store.literal("30"), from_to('0', '7')})});
  const regex_id at_308 = exponent(plus, {store.literal("308")});
  const regex_id small = exponent(store.literal("-"), {store.repeat(digit, 1, 3)});
  const regex_id below_17 =
      store.optional(store.concat({store.literal("."), from_to('0', '6'), store.star(digit)}));
  const regex_id minus = store.optional(store.literal("-"));
  scientific = store.concat(
      {minus, store.alternation({store.concat({short_whole, fraction, store.alternation({to_299, small})}),
                                 store.concat({first, fraction, to_307}),
                                 store.concat({store.literal("1"), below_17, at_308}),
                                 store.concat({store.literal("1.7976931348623157"), at_308})})});
  scientific_integer =
      store.concat({minus, store.alternation({store.concat({short_whole, no_fraction, to_299}),
                                              store.concat({first, no_fraction, to_307}),
                                              store.concat({store.literal("1"), no_fraction, at_308})})});
}

regex_id quoted(regex_store& store, regex_id body) {
  const regex_id quote = store.literal("\"");
  return store.concat({quote, body, quote});
}

}  // namespace troupe::json_schema
