#include <algorithm>
#include <string>
#include <vector>

#include "runtime/chat_template/characters.hpp"
#include "runtime/chat_template/string_methods.hpp"

namespace troupe::jinja {
namespace {

using a = const arguments&;
using s = const std::string&;

// str.split() without a separator: by runs of white space.
list words(std::string_view text, std::int64_t most) {
  list out;
  for (text = strip(text, side::left); !text.empty(); text = strip(text, side::left)) {
    std::size_t end = 0;
    while (most != 0 && end < text.size()) {
      const auto size = first_utf8_unit(text.substr(end)).size;
      if (is_white_space(code_point_of(text.substr(end, size)))) break;
      end += size;
    }
    if (most == 0) end = strip(text, side::right).size();
    if (most > 0) --most;
    out.push_back(value::of(std::string(text.substr(0, end))));
    text.remove_prefix(end);
  }
  return out;
}

value split(budget& spent, s self, a given) {
  const auto* separator = given.text(spent, 0);
  auto most = given.integer(spent, 1).value_or(-1);
  if (!separator) return contain(spent, words(self, most));
  if (separator->empty()) return spent.fail("empty separator");
  list out;
  std::size_t position = 0;
  for (; most != 0; --most) {
    const auto found = self.find(*separator, position);
    if (found == std::string::npos) break;
    out.push_back(value::of(self.substr(position, found - position)));
    position = found + separator->size();
  }
  out.push_back(value::of(self.substr(position)));
  if (!spent.spend(16 * out.size())) return {};
  return contain(spent, std::move(out));
}

// The same from the right: what is left of the last words is one text, white space before it included.
list last_words(std::string_view text, std::int64_t most) {
  std::vector<std::string_view> all;
  std::size_t begin = 0, at = 0;
  const auto finish = [&] {
    if (at > begin) all.push_back(text.substr(begin, at - begin));
  };
  for_each_character(text, [&](std::string_view character, std::uint32_t code_point) {
    const bool white = is_white_space(code_point);
    if (white) finish();
    at += character.size();
    if (white) begin = at;
  });
  finish();
  const auto kept = std::min(static_cast<std::size_t>(most), all.size());
  list out;
  if (const auto left = all.size() - kept; left > 0) {
    const auto end = static_cast<std::size_t>(all[left - 1].data() - text.data()) + all[left - 1].size();
    out.push_back(value::of(std::string(text.substr(0, end))));
  }
  for (auto word = all.end() - static_cast<std::ptrdiff_t>(kept); word != all.end(); ++word)
    out.push_back(value::of(std::string(*word)));
  return out;
}

value rsplit(budget& spent, s self, a given) {
  const auto* separator = given.text(spent, 0);
  auto most = given.integer(spent, 1).value_or(-1);
  if (!separator) return contain(spent, most < 0 ? words(self, most) : last_words(self, most));
  if (separator->empty()) return spent.fail("empty separator");
  list out;
  auto end = self.size();
  for (; most != 0 && end >= separator->size(); --most) {
    const auto found = self.rfind(*separator, end - separator->size());
    if (found == std::string::npos) break;
    out.push_back(value::of(self.substr(found + separator->size(), end - found - separator->size())));
    end = found;
  }
  out.push_back(value::of(self.substr(0, end)));
  std::reverse(out.begin(), out.end());
  if (!spent.spend(16 * out.size())) return {};
  return contain(spent, std::move(out));
}

bool breaks_line(std::uint32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

value splitlines(budget& spent, s self, a given) {
  const bool keep = given.truth(0, false);
  list out;
  std::size_t begin = 0, at = 0;
  for_each_character(self, [&](std::string_view character, std::uint32_t code_point) {
    const auto after = at + character.size();
    const bool begins_pair = code_point == '\r' && self.compare(after, 1, "\n") == 0;
    const bool ends_pair = code_point == '\n' && at > 0 && self[at - 1] == '\r';
    if (breaks_line(code_point) && !begins_pair) {
      const auto end = keep ? after : at - (ends_pair ? 1 : 0);
      out.push_back(value::of(self.substr(begin, end - begin)));
      begin = after;
    }
    at = after;
  });
  if (begin < self.size()) out.push_back(value::of(self.substr(begin)));
  if (!spent.spend(16 * out.size())) return {};
  return contain(spent, std::move(out));
}

// What stands before a separator, itself and what follows; the whole text first or last where it is missing.
value partition(budget& spent, s self, a given, bool last) {
  const auto* separator = given.text(spent, 0);
  if (!separator || separator->empty()) return spent.fail("partition() takes a string that is not empty");
  const auto found = last ? self.rfind(*separator) : self.find(*separator);
  list parts{value::of(std::string()), value::of(std::string()), value::of(std::string())};
  if (found == std::string::npos) {
    parts[last ? 2 : 0] = value::of(self);
  } else {
    parts = {value::of(self.substr(0, found)), value::of(*separator),
             value::of(self.substr(found + separator->size()))};
  }
  return contain(spent, std::move(parts), true);
}

}  // namespace

const string_methods& splitting_methods() {
  static const string_methods all = {
      {"split", {split, "sep maxsplit"}},
      {"rsplit", {rsplit, "sep maxsplit"}},
      {"splitlines", {splitlines, "keepends"}},
      {"partition", {[](budget& b, s self, a given) { return partition(b, self, given, false); }, "-"}},
      {"rpartition", {[](budget& b, s self, a given) { return partition(b, self, given, true); }, "-"}}};
  return all;
}

}  // namespace troupe::jinja
