#include "runtime/grammar/json_names.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace troupe::grammar {

std::optional<std::string> meaning_of_string(std::string_view body) {
  if (body.find('\\') == std::string_view::npos) return std::string(body);
  const auto text = nlohmann::json::parse('"' + std::string(body) + '"', nullptr, false);
  return text.is_string() ? std::optional(text.get<std::string>()) : std::nullopt;
}

bool json_names::read(std::string_view bytes) {
  for (const char byte : bytes) {
    if (here_.string == reading::no_string) {
      read_outside(byte);
    } else if (!read_in_string(byte)) {
      return false;
    }
  }
  return true;
}

bool json_names::read_in_string(char byte) {
  const bool is_name = here_.string == reading::name;
  if (byte == '"' && !here_.is_escaped) {
    here_.string = reading::no_string;
    return !is_name || add_name();
  }
  here_.is_escaped = byte == '\\' && !here_.is_escaped;
  if (!is_name) return true;
  here_.has_escape = here_.has_escape || byte == '\\';
  written_.push_back(byte);
  ++here_.num_written;
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
      here_.is_escaped = here_.has_escape = false;
      here_.name_begin = here_.num_written;
      return;
    default:
      return;
  }
}

void json_names::open(bool is_object) {
  containers_.push_back({here_.container, is_object});
  here_.container = static_cast<std::int32_t>(here_.num_containers++);
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

std::optional<std::string> json_names::begun() const {
  return here_.has_escape ? meaning_of_string(written()) : std::string(written());
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
  meant_ += meaning;
  names_.push_back({here_.num_meant, static_cast<std::uint32_t>(meaning.size()), here_.container});
  of.insert(of.begin() + static_cast<std::ptrdiff_t>(at), here_.num_names);
  here_.num_meant = static_cast<std::uint32_t>(meant_.size());
  ++here_.num_names;
  ++here_.num_open;
  return true;
}

void json_names::back_to(const place& earlier) {
  for (; here_.num_names > earlier.num_names; --here_.num_names) {
    std::vector<std::uint32_t>& of = containers_[index(names_[here_.num_names - 1].container)].names;
    of.erase(of.begin() + static_cast<std::ptrdiff_t>(find(of, text(here_.num_names - 1))));
  }
  names_.resize(earlier.num_names);
  meant_.resize(earlier.num_meant);
  written_.resize(earlier.num_written);
  if (containers_.size() > earlier.num_containers) containers_.resize(earlier.num_containers);
  here_ = earlier;
}

}  // namespace troupe::grammar
