#include "runtime/grammar/regex/code_points.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <utility>

namespace troupe::grammar {

namespace {

constexpr std::uint32_t last_code_point = 0x10FFFF;
constexpr code_point_range surrogates{0xD800, 0xDFFF};

// Short and long name of every general category, in utf8proc's order of numbers, then of the groups.
struct category_name {
  std::string_view short_name, long_name;
};
constexpr std::array<category_name, 30> categories{{{"cn", "unassigned"},
                                                    {"lu", "uppercaseletter"},
                                                    {"ll", "lowercaseletter"},
                                                    {"lt", "titlecaseletter"},
                                                    {"lm", "modifierletter"},
                                                    {"lo", "otherletter"},
                                                    {"mn", "nonspacingmark"},
                                                    {"mc", "spacingmark"},
                                                    {"me", "enclosingmark"},
                                                    {"nd", "decimalnumber"},
                                                    {"nl", "letternumber"},
                                                    {"no", "othernumber"},
                                                    {"pc", "connectorpunctuation"},
                                                    {"pd", "dashpunctuation"},
                                                    {"ps", "openpunctuation"},
                                                    {"pe", "closepunctuation"},
                                                    {"pi", "initialpunctuation"},
                                                    {"pf", "finalpunctuation"},
                                                    {"po", "otherpunctuation"},
                                                    {"sm", "mathsymbol"},
                                                    {"sc", "currencysymbol"},
                                                    {"sk", "modifiersymbol"},
                                                    {"so", "othersymbol"},
                                                    {"zs", "spaceseparator"},
                                                    {"zl", "lineseparator"},
                                                    {"zp", "paragraphseparator"},
                                                    {"cc", "control"},
                                                    {"cf", "format"},
                                                    {"cs", "surrogate"},
                                                    {"co", "privateuse"}}};
constexpr std::array<category_name, 7> groups{{{"l", "letter"},
                                               {"m", "mark"},
                                               {"n", "number"},
                                               {"p", "punctuation"},
                                               {"s", "symbol"},
                                               {"z", "separator"},
                                               {"c", "other"}}};

// [category], one pass over all code points.
const std::array<code_point_set, categories.size()>& category_sets() {
  static const auto sets = [] {
    std::array<code_point_set, categories.size()> found;
    for (std::uint32_t c = 0; c <= last_code_point; ++c) {
      if (c == surrogates.first) c = surrogates.last + 1;
      const auto category = static_cast<std::size_t>(utf8proc_category(static_cast<utf8proc_int32_t>(c)));
      code_point_set& set = found[category < found.size() ? category : 0];
      if (!set.empty() && set.back().last + 1 == c)
        set.back().last = c;
      else
        set.push_back({c, c});
    }
    return found;
  }();
  return sets;
}

// Whose case differs in Turkish alone: they are no other case of i.
bool is_dotted_or_dotless_i(std::uint32_t c) { return c == 0x130 || c == 0x131; }
// Without a capital, but of one case folding since Unicode 15.1.
constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 6> folded_alike{
    {{0x390, 0x390}, {0x390, 0x1FD3}, {0x3B0, 0x3B0}, {0x3B0, 0x1FE3}, {0xFB05, 0xFB05}, {0xFB05, 0xFB06}}};

// Code points of equal key differ only in case, by Unicode's simple case folding; sorted by key.
using case_pair = std::pair<std::uint32_t, std::uint32_t>;  // key, code point
const std::vector<case_pair>& case_pairs() {
  static const auto pairs = [] {
    std::vector<case_pair> found;
    for (std::uint32_t c = 0; c <= last_code_point; ++c) {
      if (c == surrogates.first) c = surrogates.last + 1;
      if (is_dotted_or_dotless_i(c)) continue;
      const auto point = static_cast<utf8proc_int32_t>(c);
      const utf8proc_int32_t upper = utf8proc_toupper(point), lower = utf8proc_tolower(point);
      if (upper != point || lower != point || utf8proc_totitle(point) != point)
        found.emplace_back(static_cast<std::uint32_t>(utf8proc_tolower(upper)), c);
    }
    found.insert(found.end(), folded_alike.begin(), folded_alike.end());
    std::ranges::sort(found);
    return found;
  }();
  return pairs;
}

// The same, sorted by code point: where the others of a letter are found without a walk over all.
const std::vector<case_pair>& keys_of_letters() {
  static const auto letters = [] {
    std::vector<case_pair> found;
    for (const auto& [key, letter] : case_pairs()) found.emplace_back(letter, key);
    std::ranges::sort(found);
    return found;
  }();
  return letters;
}

code_point_set cases_of(std::uint32_t letter) {
  std::vector<code_point_range> cases{{letter, letter}};
  const auto& letters = keys_of_letters();
  const auto found = std::ranges::lower_bound(letters, letter, {}, &case_pair::first);
  if (found == letters.end() || found->first != letter) return normalized(std::move(cases));
  const auto& pairs = case_pairs();
  for (auto pair = std::ranges::lower_bound(pairs, found->second, {}, &case_pair::first);
       pair != pairs.end() && pair->first == found->second; ++pair)
    cases.push_back({pair->second, pair->second});
  return normalized(std::move(cases));
}

}  // namespace

code_point_set normalized(std::vector<code_point_range> ranges) {
  std::vector<code_point_range> parts;
  for (auto [first, last] : ranges) {
    last = std::min(last, last_code_point);
    if (first > last) continue;
    if (first < surrogates.first) parts.push_back({first, std::min(last, surrogates.first - 1)});
    if (last > surrogates.last) parts.push_back({std::max(first, surrogates.last + 1), last});
  }
  std::ranges::sort(parts, {}, &code_point_range::first);
  code_point_set set;
  for (const code_point_range& part : parts) {
    if (!set.empty() && part.first <= set.back().last + 1)
      set.back().last = std::max(set.back().last, part.last);
    else
      set.push_back(part);
  }
  return set;
}

code_point_set all_code_points() { return normalized({{0, last_code_point}}); }

code_point_set complement(const code_point_set& set) {
  std::vector<code_point_range> gaps;
  std::uint32_t next = 0;
  for (const auto& [first, last] : set) {
    if (first > next) gaps.push_back({next, first - 1});
    next = last + 1;
  }
  if (next <= last_code_point) gaps.push_back({next, last_code_point});
  return normalized(std::move(gaps));
}

code_point_set intersection(const code_point_set& a, const code_point_set& b) {
  code_point_set both;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const std::uint32_t first = std::max(a[i].first, b[j].first), last = std::min(a[i].last, b[j].last);
    if (first <= last) both.push_back({first, last});
    if (a[i].last < b[j].last)
      ++i;
    else
      ++j;
  }
  return both;
}

bool contains(const code_point_set& set, std::uint32_t code_point) {
  const auto after = std::ranges::upper_bound(set, code_point, {}, &code_point_range::first);
  return after != set.begin() && code_point <= std::prev(after)->last;
}

std::string loose_name(std::string_view name) {
  std::string loose;
  for (const char c : name)
    if (c != '_' && c != '-' && c != ' ')
      loose.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c);
  return loose;
}

std::optional<code_point_set> unicode_class(std::string_view name) {
  const std::string key = loose_name(name);
  if (key == "any") return all_code_points();
  if (key == "ascii") return code_point_set{{0, 0x7F}};
  if (key == "assigned") return complement(category_sets()[0]);
  if (key == "whitespace")
    return code_point_set{{9, 13},          {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},
                          {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F},
                          {0x205F, 0x205F}, {0x3000, 0x3000}};
  for (std::size_t i = 0; i < categories.size(); ++i)
    if (key == categories[i].short_name || key == categories[i].long_name) return category_sets()[i];
  for (const category_name& group : groups) {
    if (key != group.short_name && key != group.long_name) continue;
    std::vector<code_point_range> ranges;
    for (std::size_t i = 0; i < categories.size(); ++i)
      if (categories[i].short_name[0] == group.short_name[0])
        ranges.insert(ranges.end(), category_sets()[i].begin(), category_sets()[i].end());
    return normalized(std::move(ranges));
  }
  return std::nullopt;
}

code_point_set with_both_cases(const code_point_set& set) {
  if (set.size() == 1 && set[0].first == set[0].last) return cases_of(set[0].first);
  std::vector<code_point_range> ranges = set;
  const std::vector<case_pair>& pairs = case_pairs();
  for (std::size_t begin = 0, end = 0; begin < pairs.size(); begin = end) {
    bool any = false;
    for (end = begin; end < pairs.size() && pairs[end].first == pairs[begin].first; ++end)
      any = any || contains(set, pairs[end].second);
    for (std::size_t i = begin; any && i < end; ++i) ranges.push_back({pairs[i].second, pairs[i].second});
  }
  return normalized(std::move(ranges));
}

std::optional<std::uint32_t> hex_value(std::uint32_t c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

}  // namespace troupe::grammar
