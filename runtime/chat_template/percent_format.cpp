#include "runtime/chat_template/percent_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "runtime/chat_template/characters.hpp"
#include "runtime/chat_template/escapes.hpp"

namespace troupe::jinja {
namespace {

constexpr std::size_t widest = 1000;  // of a conversion, and of its fraction

struct conversion {
  std::optional<std::string> name;
  bool left = false, sign = false, blank = false, zeros = false, other_form = false;
  std::size_t width = 0;
  std::optional<std::size_t> precision;
  char type = '\0';
};

class percent_formatter {
 public:
  percent_formatter(budget& spent, std::string_view format, const value& values)
      : spent_(spent), rest_(format), values_(values) {
    const auto* sequence = values.get<value::sequence>();
    tuple_ = sequence && sequence->tuple ? sequence->items.get() : nullptr;
  }

  value run() {
    std::string out;
    while (!rest_.empty() && !spent_.failed()) {
      const auto text = rest_.substr(0, rest_.find('%'));
      out += text;
      rest_.remove_prefix(text.size());
      if (rest_.empty()) break;
      rest_.remove_prefix(1);
      out += convert(read());
      if (!spent_.spend() || !spent_.check_length(out.size())) return {};
    }
    // A mapping may hold more than is asked for, and so may a list, to Python.
    const bool all_taken =
        tuple_ ? next_ == tuple_->size() : next_ > 0 || values_.entries() || values_.items();
    if (!spent_.failed() && !all_taken) return spent_.fail("not all arguments converted to text");
    return spent_.failed() ? value() : value::of(std::move(out));
  }

 private:
  bool take(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::size_t number() {
    if (take('*')) {
      const auto given = next().integer();
      if (!given || *given < 0 || *given > static_cast<std::int64_t>(widest))
        spent_.fail("a bad width after '%'");
      return spent_.failed() ? 0 : static_cast<std::size_t>(*given);
    }
    std::size_t read = 0;
    while (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9') {
      read = std::min(10 * read + static_cast<std::size_t>(rest_[0] - '0'), widest + 1);
      rest_.remove_prefix(1);
    }
    if (read > widest) spent_.fail("a width after '%' is too large");
    return read;
  }

  conversion read() {
    conversion made;
    if (take('(')) {
      const auto end = rest_.find(')');
      if (end == std::string_view::npos) return spent_.fail("a name after '%' is not closed"), made;
      made.name = std::string(rest_.substr(0, end));
      rest_.remove_prefix(end + 1);
    }
    static constexpr std::pair<char, bool conversion::*> flags[] = {{'-', &conversion::left},
                                                                    {'+', &conversion::sign},
                                                                    {' ', &conversion::blank},
                                                                    {'0', &conversion::zeros},
                                                                    {'#', &conversion::other_form}};
    for (bool found = true; found;) {
      found = false;
      for (const auto& [letter, flag] : flags)
        if (take(letter)) found = made.*flag = true;
    }
    made.width = number();
    if (take('.')) made.precision = number();
    while (take('l') || take('h') || take('L')) {
    }
    if (rest_.empty()) return spent_.fail("a '%' at the end of a format"), made;
    made.type = rest_[0];
    rest_.remove_prefix(1);
    return made;
  }

  value next() {
    if (!tuple_ && next_ == 0) return ++next_, values_;
    if (tuple_ && next_ < tuple_->size()) return (*tuple_)[next_++];
    return spent_.fail("not enough arguments for a format");
  }

  std::string convert(const conversion& how) {
    if (spent_.failed()) return {};
    if (how.type == '%') return "%";
    value given;
    if (how.name) {
      const auto* found = values_.entries() ? values_.entries()->find(std::string_view(*how.name)) : nullptr;
      if (!found) return spent_.fail(fmt::format("a format's '{}' is not given", *how.name)), std::string();
      given = *found;
    } else {
      given = next();
    }
    if (spent_.failed()) return {};
    if (std::string_view("diuxXo").find(how.type) != std::string_view::npos) return whole(how, given);
    if (std::string_view("eEfFgG").find(how.type) != std::string_view::npos) return real(how, given);
    if (how.type == 's' || how.type == 'r') return text(how, given);
    return spent_.fail(fmt::format("a format has the conversion '%{}'", how.type)), std::string();
  }

  std::string text(const conversion& how, const value& given) {
    if (!spent_.spend(given.size())) return {};
    auto printed = how.type == 'r' && given.string() ? python_repr(*given.string()) : to_text(spent_, given);
    if (how.precision) printed.resize(first_characters(printed, *how.precision).size());
    return pad(how, {}, printed, false);
  }

  std::string whole(const conversion& how, const value& given) {
    auto number = given.integer();
    if (const auto* large = given.get<large_integer>(); large && (how.type == 'd' || how.type == 'i'))
      return pad(how, {}, *large->digits, false);
    const bool decimal = how.type == 'd' || how.type == 'i' || how.type == 'u';
    if (const auto* fraction = given.get<double>(); fraction && decimal && std::abs(*fraction) < 9e18)
      number = static_cast<std::int64_t>(*fraction);
    if (!number) return spent_.fail(fmt::format("'%{}' takes a number", how.type)), std::string();
    const auto size =
        *number < 0 ? 0 - static_cast<std::uint64_t>(*number) : static_cast<std::uint64_t>(*number);
    auto digits = how.type == 'x'   ? fmt::format("{:x}", size)
                  : how.type == 'X' ? fmt::format("{:X}", size)
                  : how.type == 'o' ? fmt::format("{:o}", size)
                                    : fmt::format("{}", size);
    if (how.precision && digits.size() < *how.precision)
      digits.insert(0, *how.precision - digits.size(), '0');
    const auto form = how.other_form && !decimal ? std::string("0") + how.type : std::string();
    return pad(how, sign_of(how, *number < 0) + form, digits, how.zeros);
  }

  std::string real(const conversion& how, const value& given) {
    const auto number = given.number();
    if (!number) return spent_.fail(fmt::format("'%{}' takes a number", how.type)), std::string();
    const auto places = how.precision.value_or(6);
    const auto pattern = fmt::format("{{:{}.{}{}}}", how.other_form ? "#" : "", places, how.type);
    const auto digits = fmt::format(fmt::runtime(pattern), std::abs(*number));
    return pad(how, sign_of(how, std::signbit(*number)), digits, how.zeros && std::isfinite(*number));
  }

  static std::string sign_of(const conversion& how, bool negative) {
    return negative ? "-" : how.sign ? "+" : how.blank ? " " : "";
  }

  static std::string pad(const conversion& how, const std::string& sign, const std::string& text,
                         bool zeros) {
    const auto size = count_characters(text) + sign.size();
    const auto missing = how.width > size ? how.width - size : 0;
    if (how.left) return sign + text + std::string(missing, ' ');
    return zeros ? sign + std::string(missing, '0') + text : std::string(missing, ' ') + sign + text;
  }

  budget& spent_;
  std::string_view rest_;
  const value& values_;
  const list* tuple_;
  std::size_t next_ = 0;
};

}  // namespace

value percent_format(budget& spent, const std::string& format, const value& values) {
  if (!spent.spend(format.size())) return {};
  return percent_formatter(spent, format, values).run();
}

}  // namespace troupe::jinja
