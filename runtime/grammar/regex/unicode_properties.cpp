#include "runtime/grammar/regex/unicode_properties.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/utf8.hpp"

namespace troupe::grammar {
namespace {

constexpr std::size_t longest_name = 64;

// Those that PCRE2 has made up.
constexpr std::string_view no_properties_of_unicode[] = {"xan", "xps", "xsp", "xuc", "xwd"};

struct pattern_deleter {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
using pattern = std::unique_ptr<pcre2_code, pattern_deleter>;

struct match_deleter {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};

// Runs of characters with the property; null: there is no such property.
pattern runs_of(const std::string& property) {
  const std::string text = "\\p{" + property + "}+";
  int problem = 0;
  std::size_t place = 0;
  return pattern(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), PCRE2_UTF, &problem,
                               &place, nullptr));
}

std::string every_character() {
  std::string text;
  for (const auto& [first, last] : all_code_points())
    for (std::uint32_t c = first; c <= last; ++c) append_utf8(c, text);
  return text;
}

std::uint32_t last_character(std::string_view text) {
  std::size_t begin = text.size() - 1;
  while ((static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80U) --begin;
  return first_code_point(text.substr(begin))->value;
}

code_point_set found_by(const pattern& runs) {
  pcre2_jit_compile(runs.get(), PCRE2_JIT_COMPLETE);  // where it cannot be it takes longer
  const std::string text = every_character();
  const std::unique_ptr<pcre2_match_data, match_deleter> match(
      pcre2_match_data_create_from_pattern(runs.get(), nullptr));
  const PCRE2_SIZE* const place = pcre2_get_ovector_pointer(match.get());
  std::vector<code_point_range> found;
  for (std::size_t at = 0; pcre2_match(runs.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                                       PCRE2_NO_UTF_CHECK, match.get(), nullptr) > 0;
       at = place[1]) {
    const std::string_view run = std::string_view(text).substr(place[0], place[1] - place[0]);
    found.push_back({first_code_point(run)->value, last_character(run)});
  }
  return normalized(std::move(found));
}

// As PCRE2 names it; empty: no name at all.
std::string known_name(std::string_view name) {
  if (name.empty() || name.size() > longest_name) return {};
  const std::string key = loose_name(name);
  const auto is_of_names = [](char c) { return (c >= 'a' && c <= 'z') || c == '='; };
  if (!std::ranges::all_of(key, is_of_names)) return {};
  const std::size_t equals = key.find('=');
  const std::string kind = equals == std::string::npos ? "" : key.substr(0, equals);
  const std::string value = kind.empty() ? key : key.substr(equals + 1);
  if (kind == "sc" || kind == "script") return "sc:" + value;
  if (kind == "scx" || kind == "scriptextensions") return "scx:" + value;
  if (!kind.empty() || std::ranges::find(no_properties_of_unicode, key) != std::end(no_properties_of_unicode))
    return {};
  return runs_of("sc:" + key) ? "sc:" + key : key;
}

}  // namespace

std::optional<code_point_set> unicode_property(std::string_view name) {
  const std::string key = known_name(name);
  if (key.empty()) return std::nullopt;
  static std::mutex mutex;
  static std::map<std::string, code_point_set> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  const pattern runs = runs_of(key);
  if (!runs) return std::nullopt;
  return known.emplace(key, found_by(runs)).first->second;
}

}  // namespace troupe::grammar
