#include "runtime/chat_template/characters.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "runtime/chat_template/searching.hpp"
#include "runtime/utf8.hpp"

namespace troupe::jinja {
namespace {

template <class Map>
std::string map_characters(std::string_view text, const Map& map) {
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](std::string_view character, std::uint32_t code_point) {
    if (code_point < 0x80) {
      out += static_cast<char>(map(static_cast<utf8proc_int32_t>(code_point)));
    } else if (first_utf8_unit(character).what != utf8_unit::kind::character) {
      out += character;
    } else {
      append_utf8(static_cast<std::uint32_t>(map(static_cast<utf8proc_int32_t>(code_point))), out);
    }
  });
  return out;
}

bool is_letter(utf8proc_int32_t code_point) {
  const auto category = utf8proc_category(code_point);
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
         category == UTF8PROC_CATEGORY_LT;
}

// What a small letter becomes several of where no other one is its capital: 'ß' is "ss", 'ﬁ' "fi"; empty for
// others.
std::string without_capital(std::string_view character, std::uint32_t code_point) {
  const auto given = static_cast<utf8proc_int32_t>(code_point);
  constexpr std::uint32_t sharp_s = 0xDF;  // its capital letter is not what Unicode makes of it
  const bool alone = code_point == sharp_s || (code_point >= 0x80 && utf8proc_toupper(given) == given);
  if (!alone || utf8proc_category(given) != UTF8PROC_CATEGORY_LL) return {};
  auto folded = fold_case(character);
  return count_characters(folded) > 1 ? folded : std::string();
}

std::string titled(std::string_view character, std::uint32_t code_point) {
  const auto several = without_capital(character, code_point);
  bool done = false;
  return map_characters(several.empty() ? character : several, [&done](utf8proc_int32_t each) {
    const auto changed = done ? each : utf8proc_totitle(each);
    done = done || changed != each;
    return changed;
  });
}

bool separates_words(utf8proc_int32_t code_point) {
  return is_white_space(static_cast<std::uint32_t>(code_point)) ||
         (code_point < 0x80 &&
          std::string_view("-({[<").find(static_cast<char>(code_point)) != std::string_view::npos);
}

}  // namespace

std::uint32_t code_point_of(std::string_view character) {
  const auto at = [character](std::size_t index) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(character[index]));
  };
  if (first_utf8_unit(character).what != utf8_unit::kind::character) return 0xFFFD;
  switch (character.size()) {
    case 1:
      return at(0);
    case 2:
      return (at(0) & 0x1FU) << 6U | (at(1) & 0x3FU);
    case 3:
      return (at(0) & 0x0FU) << 12U | (at(1) & 0x3FU) << 6U | (at(2) & 0x3FU);
    default:
      return (at(0) & 0x07U) << 18U | (at(1) & 0x3FU) << 12U | (at(2) & 0x3FU) << 6U | (at(3) & 0x3FU);
  }
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> out;
  for_each_character(text, [&out](std::string_view character, std::uint32_t) { out.push_back(character); });
  return out;
}

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for_each_character(text, [&count](std::string_view, std::uint32_t) { ++count; });
  return count;
}

std::string_view first_characters(std::string_view text, std::size_t most) {
  std::size_t size = 0;
  for (; most > 0 && size < text.size(); --most) size += first_utf8_unit(text.substr(size)).size;
  return text.substr(0, size);
}

bool is_white_space(std::uint32_t c) {
  return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

std::string_view strip(std::string_view text, side where, std::string_view drop) {
  const auto dropped = characters(drop);
  const auto goes = [&](std::string_view character) {
    if (drop.empty()) return is_white_space(code_point_of(character));
    return std::find(dropped.begin(), dropped.end(), character) != dropped.end();
  };
  while (where != side::right && !text.empty()) {
    const auto first = text.substr(0, first_utf8_unit(text).size);
    if (!goes(first)) break;
    text.remove_prefix(first.size());
  }
  while (where != side::left && !text.empty()) {
    auto begin = text.size() - 1;
    while (begin > 0 && text.size() - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80U)
      --begin;
    if (begin + first_utf8_unit(text.substr(begin)).size != text.size()) begin = text.size() - 1;
    if (!goes(text.substr(begin))) break;
    text.remove_suffix(text.size() - begin);
  }
  return text;
}

bool is_alphabetic(std::uint32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool is_word_character(std::uint32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return c == '_' || is_alphabetic(c) ||
         (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
}

std::string fold_case(std::string_view text) {
  std::string out;
  for_each_character(text, [&out](std::string_view character, std::uint32_t code_point) {
    if (first_utf8_unit(character).what != utf8_unit::kind::character) {
      out += character;
      return;
    }
    std::array<utf8proc_int32_t, 8> folded{};
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code_point), folded.data(),
                                               folded.size(), UTF8PROC_CASEFOLD, nullptr);
    for (utf8proc_ssize_t at = 0; at < count && at < 8; ++at)
      append_utf8(static_cast<std::uint32_t>(folded[static_cast<std::size_t>(at)]), out);
  });
  return out;
}

std::string to_upper(std::string_view text) {
  std::string out;
  for_each_character(text, [&out](std::string_view character, std::uint32_t code_point) {
    const auto several = without_capital(character, code_point);
    out += map_characters(several.empty() ? character : several, utf8proc_toupper);
  });
  return out;
}
std::string to_lower(std::string_view text) { return map_characters(text, utf8proc_tolower); }

std::string capitalize(std::string_view text) {
  const auto first = text.substr(0, text.empty() ? 0 : first_utf8_unit(text).size);
  return text.empty() ? std::string()
                      : titled(first, code_point_of(first)) + to_lower(text.substr(first.size()));
}

std::string title(std::string_view text, bool filter) {
  std::string out;
  bool begins = true;
  for_each_character(text, [&](std::string_view character, std::uint32_t code_point) {
    out += !begins ? to_lower(character) : filter ? to_upper(character) : titled(character, code_point);
    const auto given = static_cast<utf8proc_int32_t>(code_point);
    begins = filter ? separates_words(given) : !is_letter(given);
  });
  return out;
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to,
                        std::int64_t most) {
  std::string out;
  std::size_t position = 0;
  if (from.empty()) {  // Python: before every character and at the end
    for_each_character(text, [&](std::string_view character, std::uint32_t) {
      if (most != 0) out += to;
      if (most > 0) --most;
      out += character;
    });
    return most == 0 ? out : out + std::string(to);
  }
  for (; most != 0; --most) {
    const auto found = find_first(text, from, position);
    if (found == std::string_view::npos) break;
    out += text.substr(position, found - position);
    out += to;
    position = found + from.size();
  }
  return out += text.substr(position);
}

}  // namespace troupe::jinja
