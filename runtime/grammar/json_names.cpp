#include "runtime/grammar/json_names.hpp"

#include <algorithm>

#include "runtime/json/json.hpp"
#include "runtime/text_ends.hpp"

namespace troupe::grammar {

std::optional<std::string> meaning_of_string(std::string_view body) {
  if (body.find('\\') == std::string_view::npos) return std::string(body);
  const auto text = json::parse('"' + std::string(body) + '"', nullptr, false);
  return text.is_string() ? std::optional(text.get<std::string>()) : std::nullopt;
}

bool json_names::read(std::string_view bytes) {
  for (const char byte : bytes) {
    if (here_.reasoning != reasoning_start::none) read_reasoning(byte);
    if (here_.reasoning != reasoning_start::none) continue;
    if (here_.string == reading::no_string) {
      read_outside(byte);
    } else if (!read_in_string(byte)) {
      return false;
    }
  }
  return true;
}

// No JSON text begins as the opening mark does. The closing one has its first byte only there.
void json_names::read_reasoning(char byte) {
  constexpr std::string_view closing = reasoning_marks::closing;
  if (here_.reasoning == reasoning_start::begun) {
    here_.closing = byte == closing[here_.closing] ? here_.closing + 1 : byte == closing[0] ? 1 : 0;
    if (here_.closing == closing.size()) here_.reasoning = reasoning_start::none;
  } else if (white_space.find(byte) == std::string_view::npos) {
    here_.reasoning = byte == reasoning_marks::opening[0] ? reasoning_start::begun : reasoning_start::none;
  }
}

bool json_names::read_in_string(char byte) {
  const bool is_name = here_.string == reading::name;
  if (byte == '"' && !here_.is_escaped) {
    here_.string = reading::no_string;
    return !is_name || add_name();
  }
  here_.is_escaped = byte == '\\' && !here_.is_escaped;
  if (is_name) written_.push_back(byte);
  return true;
}

void json_names::read_outside(char byte) {
  switch (byte) {
    case '{':
    case '[':
      return open(byte == '{');
    case '}':
    case ']':
      return close();
    case ',':
      here_.expects_name = here_.container >= 0 && containers_[index(here_.container)].is_object;
      return;
    case '"':
      here_.string = here_.expects_name ? reading::name : reading::value;
      here_.expects_name = false;
      here_.is_escaped = false;
      here_.name_begin = written_.size();
      return;
    default:
      return;
  }
}

void json_names::open(bool is_object) {
  containers_.push_back({here_.container, is_object});
  here_.container = static_cast<std::int32_t>(containers_.size() - 1);
  here_.expects_name = is_object;
}

void json_names::close() {
  here_.expects_name = false;
  if (here_.container < 0) return;
  const container& closed = containers_[index(here_.container)];
  here_.num_open -= static_cast<std::uint32_t>(closed.names.size());
  here_.container = closed.parent;
}

std::span<const std::uint32_t> json_names::names() const {
  if (here_.container < 0) return {};
  return containers_[index(here_.container)].names;
}

std::size_t json_names::find(std::span<const std::uint32_t> names, std::string_view text) const {
  const auto meaning = [this](std::uint32_t name) { return this->text(name); };
  return static_cast<std::size_t>(std::ranges::lower_bound(names, text, {}, meaning) - names.begin());
}

bool json_names::has(std::string_view name) const {
  const std::size_t at = find(names(), name);
  return at < names().size() && text(names()[at]) == name;
}

bool json_names::has_beginning(std::string_view begin) const {
  const std::size_t at = find(names(), begin);
  return at < names().size() && text(names()[at]).starts_with(begin);
}

std::vector<std::string> json_names::beginning(std::string_view begin) const {
  std::vector<std::string> found;
  const std::span<const std::uint32_t> all = names();
  for (std::size_t i = find(all, begin); i < all.size() && text(all[i]).starts_with(begin); ++i)
    found.emplace_back(text(all[i]));
  return found;
}

std::string json_names::surely_begun() const {
  std::string_view body = written();
  auto meaning = meaning_of_string(body);
  while (!meaning) {
    body = body.substr(0, body.rfind('\\'));
    meaning = meaning_of_string(body);
  }
  return *meaning;
}

bool json_names::add_name() {
  // Half a surrogate pair stays as it is written.
  const std::string meaning = begun().value_or(std::string(written()));
  std::vector<std::uint32_t>& of = containers_[index(here_.container)].names;
  const std::size_t at = find(of, meaning);
  if (at < of.size() && text(of[at]) == meaning) return false;
  if (of.size() == of.capacity()) of.reserve(2 * of.size() + 4);  // what is below does not end half-way
  const name added{static_cast<std::uint32_t>(meant_.size()), static_cast<std::uint32_t>(meaning.size()),
                   here_.container};
  meant_ += meaning;
  names_.push_back(added);
  of.insert(of.begin() + static_cast<std::ptrdiff_t>(at), static_cast<std::uint32_t>(names_.size() - 1));
  ++here_.num_open;
  return true;
}

json_names::place json_names::here() const {
  place now = here_;
  now.num_written = written_.size();
  now.num_meant = meant_.size();
  now.num_names = names_.size();
  now.num_containers = containers_.size();
  return now;
}

void json_names::back_to(const place& earlier) {
  for (; names_.size() > earlier.num_names; names_.pop_back()) {
    const auto newest = static_cast<std::uint32_t>(names_.size() - 1);
    std::vector<std::uint32_t>& of = containers_[index(names_[newest].container)].names;
    of.erase(of.begin() + static_cast<std::ptrdiff_t>(find(of, text(newest))));
  }
  meant_.resize(earlier.num_meant);
  written_.resize(earlier.num_written);
  containers_.resize(earlier.num_containers);
  here_ = earlier;
}

}  // namespace troupe::grammar
