#include "runtime/tokenizer/compose.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <vector>

#include "runtime/utf8.hpp"

namespace troupe {
namespace {

constexpr auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
// No character above has a decomposition or is part of one.
constexpr std::uint32_t code_points = 0x30000;

// Appends its parts, of which none can be taken apart.
void decompose(std::uint32_t code_point, std::vector<utf8proc_int32_t>& out) {
  std::array<utf8proc_int32_t, 32> parts{};
  int boundclass = 0;
  const auto size =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code_point), parts.data(),
                              static_cast<utf8proc_ssize_t>(parts.size()), options, &boundclass);
  out.insert(out.end(), parts.data(), parts.data() + std::max<utf8proc_ssize_t>(size, 0));
}

int combining_class(utf8proc_int32_t code_point) {
  return utf8proc_get_property(code_point)->combining_class;
}

// Puts parts into their canonical order and together. utf8proc's own sort takes the square of their number.
void put_together(std::vector<utf8proc_int32_t>& parts) {
  const auto is_starter = [](utf8proc_int32_t part) { return combining_class(part) == 0; };
  for (auto begin = parts.begin(); begin != parts.end();) {
    begin = std::find_if_not(begin, parts.end(), is_starter);
    const auto end = std::find_if(begin, parts.end(), is_starter);
    std::ranges::stable_sort(begin, end, {}, combining_class);
    begin = end;
  }
  const auto left =
      utf8proc_normalize_utf32(parts.data(), static_cast<utf8proc_ssize_t>(parts.size()), options);
  parts.resize(static_cast<std::size_t>(std::max<utf8proc_ssize_t>(left, 0)));
}

bool is_mark(std::uint32_t code_point) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
         category == UTF8PROC_CATEGORY_ME;
}

// [code point]: it may become another one, or one with what stands before it, or change places with that. All
// others stay as they are, and nothing before such a one has to do with what follows it.
using unsteady_code_points = std::bitset<code_points>;

unsteady_code_points find_unsteady() {
  unsteady_code_points unsteady;
  std::vector<utf8proc_int32_t> parts;
  for (std::uint32_t c = 0x300; c < code_points; ++c) {
    const bool is_hangul_vowel_or_end = (c >= 0x1161 && c <= 0x1175) || (c >= 0x11A8 && c <= 0x11C2);
    unsteady[c] = is_hangul_vowel_or_end || is_mark(c);
    if (unsteady[c] || utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->decomp_seqindex == UINT16_MAX)
      continue;
    parts.clear();
    decompose(c, parts);
    put_together(parts);
    unsteady[c] = parts.size() != 1 || parts[0] != static_cast<utf8proc_int32_t>(c);
  }
  return unsteady;
}

bool is_unsteady(std::uint32_t code_point) {
  static const unsteady_code_points all = find_unsteady();
  return code_point < code_points && all[code_point];
}

// Characters below U+0300 begin with a smaller byte, and all are steady.
bool may_begin_unsteady(char byte) { return static_cast<unsigned char>(byte) >= 0xCC; }

// Unsteady characters side by side, with the one before them that they may become one with.
struct stretch {
  std::size_t begin = 0, end = 0;
};

std::size_t size_at(std::string_view text, std::size_t at) { return first_utf8_unit(text.substr(at)).size; }

// The next one from `from` on, an empty one where there is none.
stretch next_unsteady(std::string_view text, std::size_t from) {
  const auto unsteady_at = [text](std::size_t at) {
    if (at >= text.size() || !may_begin_unsteady(text[at])) return false;
    const auto code_point = first_code_point(text.substr(at));
    return code_point && is_unsteady(code_point->value);
  };
  std::size_t at = from;
  while (true) {
    at = static_cast<std::size_t>(
        std::find_if(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), may_begin_unsteady) -
        text.begin());
    if (at == text.size()) return {at, at};
    if (unsteady_at(at)) break;
    at += size_at(text, at);
  }
  stretch found{at, at};
  while (unsteady_at(found.end)) found.end += size_at(text, found.end);
  if (found.begin > from) {
    do --found.begin;
    while ((static_cast<unsigned char>(text[found.begin]) & 0xC0U) == 0x80);
  }
  return found;
}

void append_composed(std::string_view text, std::vector<utf8proc_int32_t>& parts, std::string& out) {
  parts.clear();
  for (auto next = first_code_point(text); next; next = first_code_point(text)) {
    decompose(next->value, parts);
    text.remove_prefix(next->size);
  }
  put_together(parts);
  for (const auto part : parts) append_utf8(static_cast<std::uint32_t>(part), out);
}

}  // namespace

std::string_view compose(std::string_view text, std::string& room) {
  auto found = next_unsteady(text, 0);
  if (found.begin == text.size()) return text;
  room.clear();
  room.reserve(text.size());
  std::vector<utf8proc_int32_t> parts;
  std::size_t done = 0;
  for (; found.begin < text.size(); found = next_unsteady(text, done)) {
    room += text.substr(done, found.begin - done);
    append_composed(text.substr(found.begin, found.end - found.begin), parts, room);
    done = found.end;
  }
  room += text.substr(done);
  return room;
}

}  // namespace troupe
