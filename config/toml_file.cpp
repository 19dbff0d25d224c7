#include "config/toml_file.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <sstream>

#include "config/options.hpp"
#include "config/values.hpp"

namespace troupe::config {
namespace {

std::string at(const std::string& path, const toml::source_region& where) {
  return path + ":" + std::to_string(where.begin.line) + ": ";
}

std::string number_text(double number) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << std::fixed << number;
  return out.str();
}

// The node's text where its TOML type suits the option: integers and ratios are numbers, switches booleans;
// sizes and times may be strings too.
std::optional<std::string> node_text(const option& which, const toml::node& node) {
  if (which.is_switch()) {
    const auto* value = node.as_boolean();
    if (value == nullptr) return std::nullopt;
    return value->get() ? "true" : "false";
  }
  const bool is_text = std::holds_alternative<std::string settings::*>(which.member);
  const bool is_integer = std::holds_alternative<std::int32_t settings::*>(which.member);
  const bool is_automatic = std::holds_alternative<std::optional<std::int32_t> settings::*>(which.member);
  const bool is_ratio = std::holds_alternative<double settings::*>(which.member);
  const bool is_time = std::holds_alternative<std::chrono::milliseconds settings::*>(which.member);
  if (const auto* text = node.as_string()) {
    if (is_integer || is_ratio || (is_automatic && text->get() != "auto")) return std::nullopt;
    return text->get();
  }
  if (is_text) return std::nullopt;
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point(); number != nullptr && (is_time || is_ratio))
    return number_text(number->get());
  return std::nullopt;
}

const char* expected_type(const option& which) {
  if (std::holds_alternative<std::string settings::*>(which.member)) return "a string";
  if (std::holds_alternative<std::int32_t settings::*>(which.member)) return "an integer";
  if (std::holds_alternative<std::uint64_t settings::*>(which.member)) return "a size such as \"1GiB\"";
  if (std::holds_alternative<double settings::*>(which.member)) return "a number";
  if (which.is_switch()) return "true or false";
  if (std::holds_alternative<std::optional<std::int32_t> settings::*>(which.member))
    return "an integer or \"auto\"";
  return "a time such as \"15s\"";
}

std::string kind_of(const toml::node& node) {
  std::ostringstream out;
  out << node.type();
  return out.str();
}

// Behind the string that begins at `begin`, or the end of the text where it does not end.
std::size_t end_of_string(std::string_view content, std::size_t begin) {
  const char quote = content[begin];
  const std::string mark(content.substr(begin, 3) == std::string(3, quote) ? 3 : 1, quote);
  for (std::size_t i = begin + mark.size(); i < content.size(); ++i) {
    if (quote == '"' && content[i] == '\\')
      ++i;
    else if (content.substr(i, mark.size()) == mark)
      return i + mark.size();
    else if (mark.size() == 1 && content[i] == '\n')
      return i;
  }
  return content.size();
}

std::string unknown_key(std::string_view key) {
  const std::string_view nearest = nearest_option(key);
  return "unknown key '" + shown(key) + "'" +
         (nearest.empty() ? std::string() : "; did you mean '" + std::string(nearest) + "'?");
}

// Where a key has more parts than anybody means, "a.a.a...": toml++ reads and frees tables within tables by
// recursion, which has no end of its own for keys with dots. Its line, from 1.
std::optional<std::uint32_t> line_of_endless_key(std::string_view content) {
  constexpr std::size_t most_dots = 256;
  constexpr std::string_view separators = "=,{}[]\n";
  std::size_t dots = 0;
  for (std::size_t i = 0; i < content.size(); ++i) {
    const char c = content[i];
    if (c == '#') {
      i = std::min(content.find('\n', i), content.size()) - 1;
    } else if (c == '"' || c == '\'') {
      i = end_of_string(content, i) - 1;
    } else if (separators.find(c) != std::string_view::npos) {
      dots = 0;
    } else if (c == '.' && ++dots > most_dots) {
      return 1 + static_cast<std::uint32_t>(std::ranges::count(content.substr(0, i), '\n'));
    }
  }
  return std::nullopt;
}

struct problem {
  std::uint32_t line;
  std::string message;
};

}  // namespace

tl::expected<std::vector<file_entry>, std::string> parse_toml(std::string_view content,
                                                              const std::string& path) {
  if (const auto line = line_of_endless_key(content))
    return tl::unexpected(path + ":" + std::to_string(*line) + ": a key of more than 256 parts");
  toml::table table;
  try {
    table = toml::parse(content, path);
  } catch (const toml::parse_error& failure) {
    return tl::unexpected(at(path, failure.source()) + std::string(failure.description()));
  }
  std::vector<file_entry> entries;
  std::optional<problem> first;
  const auto report = [&](const toml::source_region& where, const std::string& what) {
    if (!first || where.begin.line < first->line) first = problem{where.begin.line, at(path, where) + what};
  };
  for (const auto& [key, node] : table) {
    const option* which = find_option(key.str());
    if (which == nullptr) {
      report(key.source(), unknown_key(key.str()));
    } else if (auto text = node_text(*which, node)) {
      entries.push_back({std::string(key.str()), std::move(*text), key.source().begin.line});
    } else {
      report(key.source(), which->name.data() + std::string(": expected ") + expected_type(*which) +
                               ", got a TOML " + kind_of(node));
    }
  }
  if (first) return tl::unexpected(first->message);
  std::sort(entries.begin(), entries.end(),
            [](const file_entry& a, const file_entry& b) { return a.line < b.line; });
  return entries;
}

}  // namespace troupe::config
