#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "runtime/chat_template/characters.hpp"
#include "runtime/chat_template/escapes.hpp"
#include "runtime/chat_template/operations.hpp"

namespace troupe::jinja {
namespace {

// Python's repr() of a float.
std::string real_text(double number, bool json) {
  if (std::isnan(number)) return json ? "NaN" : "nan";
  if (std::isinf(number)) return std::string(number < 0 ? "-" : "") + (json ? "Infinity" : "inf");
  auto text = fmt::format("{}", number);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

void append_repr(budget& spent, const value& printed, std::string& out) {
  if (!spent.spend(printed.string() ? printed.size() : 0) || !spent.check_length(out.size())) return;
  if (const auto* text = printed.string()) {
    out += python_repr(*text);
  } else if (const auto* sequence = printed.get<value::sequence>()) {
    out += sequence->tuple ? '(' : '[';
    const char* separator = "";
    for (const auto& item : *sequence->items) {
      out += std::exchange(separator, ", ");
      append_repr(spent, item, out);
      if (spent.failed()) return;
    }
    if (sequence->tuple && sequence->items->size() == 1) out += ',';
    out += sequence->tuple ? ')' : ']';
  } else if (const auto* entries = printed.entries()) {
    out += '{';
    const char* separator = "";
    for (const auto& [key, item] : entries->entries()) {
      out += std::exchange(separator, ", ");
      append_repr(spent, value_of(key), out);
      out += ": ";
      append_repr(spent, item, out);
      if (spent.failed()) return;
    }
    out += '}';
  } else if (printed.is_undefined()) {
    out += "Undefined";
  } else {
    out += to_text(spent, printed);
  }
}

void append_unit(std::uint32_t unit, std::string& out) {
  fmt::format_to(std::back_inserter(out), "\\u{:04x}", unit);
}

void append_json_string(std::string_view text, bool ascii, std::string& out) {
  out += '"';
  for_each_character(text, [&](std::string_view character, std::uint32_t code_point) {
    static constexpr std::string_view from = "\"\\\n\r\t\b\f";
    static constexpr std::string_view to = "\"\\nrtbf";
    const auto escape = code_point < 0x80 ? from.find(static_cast<char>(code_point)) : std::string_view::npos;
    if (escape != std::string_view::npos) {
      out += '\\';
      out += to[escape];
    } else if (code_point < 0x20 || (ascii && code_point >= 0x7F && code_point < 0x10000)) {
      append_unit(code_point, out);
    } else if (ascii && code_point >= 0x10000) {
      append_unit(0xD800 + ((code_point - 0x10000) >> 10U), out);
      append_unit(0xDC00 + ((code_point - 0x10000) & 0x3FFU), out);
    } else {
      out += character;
    }
  });
  out += '"';
}

class json_printer {
 public:
  json_printer(budget& spent, const json_style& style) : spent_(spent), style_(style) {}

  void append(const value& printed) {
    if (!spent_.spend(printed.string() ? printed.size() : 0) || !spent_.check_length(out.size())) return;
    if (const auto* text = printed.string()) {
      append_json_string(*text, style_.ascii, out);
    } else if (const auto* items = printed.items()) {
      enclosed('[', ']', items->size(), [&](std::size_t at) { append((*items)[at]); });
    } else if (const auto* entries = printed.entries()) {
      append_entries(*entries);
    } else if (const auto* truth = printed.get<bool>()) {
      out += *truth ? "true" : "false";
    } else if (const auto* real = printed.get<double>()) {
      out += real_text(*real, true);
    } else if (printed.is_none()) {
      out += "null";
    } else if (printed.is_number()) {
      out += to_text(spent_, printed);
    } else {
      spent_.fail(fmt::format("'{}' has no JSON form", printed.type_name()));
    }
  }

  std::string out;

 private:
  void append_entries(const dict& entries) {
    std::vector<const dict::entry*> order;
    for (const auto& entry : entries.entries()) order.push_back(&entry);
    if (style_.sort_keys && keys_have_order(spent_, entries)) {
      std::sort(order.begin(), order.end(),
                [](const auto* left, const auto* right) { return left->first < right->first; });
    }
    enclosed('{', '}', order.size(), [&](std::size_t at) {
      append_json_string(to_text(spent_, value_of(order[at]->first)), style_.ascii, out);
      out += style_.key_separator;
      append(order[at]->second);
    });
  }

  template <class Element>
  void enclosed(char open, char close, std::size_t count, const Element& element) {
    out += open;
    ++level_;
    for (std::size_t at = 0; at < count && !spent_.failed(); ++at) {
      if (at > 0) out += style_.item_separator;
      new_line();
      element(at);
    }
    --level_;
    if (count > 0) new_line();
    out += close;
  }

  void new_line() {
    if (!style_.margin) return;
    if (!spent_.spend(style_.margin->size() * level_) ||
        !spent_.check_length(out.size() + style_.margin->size() * level_))
      return;
    out += '\n';
    for (std::size_t level = 0; level < level_; ++level) out += *style_.margin;
  }

  budget& spent_;
  json_style style_;
  std::size_t level_ = 0;
};

}  // namespace

std::string to_text(budget& spent, const value& printed) {
  if (const auto* text = printed.string()) return *text;
  if (printed.is_undefined()) return {};
  if (printed.is_none()) return "None";
  if (const auto* truth = printed.get<bool>()) return *truth ? "True" : "False";
  if (const auto* whole = printed.get<std::int64_t>()) return std::to_string(*whole);
  if (const auto* large = printed.get<large_integer>()) return *large->digits;
  if (const auto* real = printed.get<double>()) return real_text(*real, false);
  if (printed.items() || printed.entries()) {
    std::string out;
    append_repr(spent, printed, out);
    return out;
  }
  spent.fail(fmt::format("'{}' cannot be printed", printed.type_name()));
  return {};
}

std::string to_json(budget& spent, const value& printed, const json_style& style) {
  json_printer printer(spent, style);
  printer.append(printed);
  return std::move(printer.out);
}

}  // namespace troupe::jinja
