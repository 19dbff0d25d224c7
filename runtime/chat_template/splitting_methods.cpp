#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/chat_template/characters.hpp"
#include "runtime/chat_template/searching.hpp"
#include "runtime/chat_template/string_methods.hpp"

namespace troupe::jinja {
namespace {

using a = const arguments&;
using s = const std::string&;

// Parts of a text, paid for as they are made: each is a value of its own, which takes far more room than what
// it was cut out of.
class parts {
 public:
  explicit parts(budget& spent) : spent_(spent) {}

  // False: no more.
  bool add(std::string_view text) {
    constexpr std::size_t of_a_step = 8;
    if (spent_.failed() || (made_.size() % of_a_step == 0 && !spent_.spend())) return false;
    made_.push_back(value::of(std::string(text)));
    return true;
  }
  void reverse() { std::reverse(made_.begin(), made_.end()); }
  value as_list() { return spent_.failed() ? value() : contain(spent_, std::move(made_)); }

 private:
  budget& spent_;
  list made_;
};

// str.split() without a separator: by runs of white space. What is left of a text that is split no further
// keeps the white space at its end.
value words(budget& spent, std::string_view text, std::int64_t most) {
  parts out(spent);
  for (text = strip(text, side::left); !text.empty(); text = strip(text, side::left)) {
    std::size_t end = 0;
    while (most != 0 && end < text.size()) {
      const auto size = first_utf8_unit(text.substr(end)).size;
      if (is_white_space(code_point_of(text.substr(end, size)))) break;
      end += size;
    }
    if (most == 0) end = text.size();
    if (most > 0) --most;
    if (!out.add(text.substr(0, end))) break;
    text.remove_prefix(end);
  }
  return out.as_list();
}

value split(budget& spent, s self, a given) {
  const auto* separator = given.text(spent, 0);
  auto most = given.integer(spent, 1).value_or(-1);
  if (!separator) return words(spent, self, most);
  if (separator->empty()) return spent.fail("empty separator");
  const std::string_view text = self;
  parts out(spent);
  std::size_t position = 0;
  for (; most != 0; --most) {
    const auto found = find_first(text, *separator, position);
    if (found == std::string_view::npos || !out.add(text.substr(position, found - position))) break;
    position = found + separator->size();
  }
  out.add(text.substr(position));
  return out.as_list();
}

// The same from the right: what is left of the last words is one text, white space before it included.
value last_words(budget& spent, std::string_view text, std::int64_t most) {
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
  parts out(spent);
  if (const auto left = all.size() - kept; left > 0) {
    const auto end = static_cast<std::size_t>(all[left - 1].data() - text.data()) + all[left - 1].size();
    out.add(text.substr(0, end));
  }
  for (auto word = all.end() - static_cast<std::ptrdiff_t>(kept); word != all.end(); ++word)
    if (!out.add(*word)) break;
  return out.as_list();
}

value rsplit(budget& spent, s self, a given) {
  const auto* separator = given.text(spent, 0);
  auto most = given.integer(spent, 1).value_or(-1);
  if (!separator) return most < 0 ? words(spent, self, most) : last_words(spent, self, most);
  if (separator->empty()) return spent.fail("empty separator");
  const std::string_view text = self;
  parts out(spent);
  auto end = text.size();
  for (; most != 0; --most) {
    const auto found = find_last(text, *separator, end);
    if (found == std::string_view::npos) break;
    const auto begin = found + separator->size();
    if (!out.add(text.substr(begin, end - begin))) break;
    end = found;
  }
  out.add(text.substr(0, end));
  out.reverse();
  return out.as_list();
}

bool breaks_line(std::uint32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

value splitlines(budget& spent, s self, a given) {
  const bool keep = given.truth(0, false);
  const std::string_view text = self;
  parts out(spent);
  std::size_t begin = 0, at = 0;
  for_each_character(text, [&](std::string_view character, std::uint32_t code_point) {
    const auto after = at + character.size();
    const bool begins_pair = code_point == '\r' && text.substr(after).starts_with('\n');
    const bool ends_pair = code_point == '\n' && at > 0 && text[at - 1] == '\r';
    if (breaks_line(code_point) && !begins_pair) {
      const auto end = keep ? after : at - (ends_pair ? 1 : 0);
      out.add(text.substr(begin, end - begin));
      begin = after;
    }
    at = after;
  });
  if (begin < text.size()) out.add(text.substr(begin));
  return out.as_list();
}

// What stands before a separator, itself and what follows; the whole text first or last where it is missing.
value partition(budget& spent, s self, a given, bool last) {
  const auto* separator = given.text(spent, 0);
  if (!separator || separator->empty()) return spent.fail("partition() takes a string that is not empty");
  const auto found = last ? find_last(self, *separator) : find_first(self, *separator);
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
