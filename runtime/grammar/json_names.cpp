#include "runtime/grammar/json_names.hpp"

#include <nlohmann/json.hpp>

namespace troupe::grammar {
namespace {

// What a string's body means; half a surrogate pair stays as it is written.
std::string decoded(std::string_view body) {
  const auto text = nlohmann::json::parse('"' + std::string(body) + '"', nullptr, false);
  return text.is_string() ? text.get<std::string>() : std::string(body);
}

}  // namespace

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
  raw_.push_back(byte);
  ++here_.raw_size;
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
      here_.name_begin = here_.raw_size;
      return;
    default:
      return;
  }
}

void json_names::open(bool is_object) {
  containers_.push_back({.parent = here_.container, .is_object = is_object});
  here_.container = static_cast<std::int32_t>(here_.num_containers++);
  here_.expects_name = is_object;
}

void json_names::close() {
  here_.expects_name = false;
  if (here_.container < 0) return;
  const container& closed = containers_[index(here_.container)];
  here_.num_open -= closed.num_names;
  here_.container = closed.parent;
}

bool json_names::add_name() {
  std::string text = here_.has_escape ? decoded(partial()) : std::string(partial());
  if (has(text)) return false;
  container& of = containers_[index(here_.container)];
  names_.push_back({std::move(text), here_.container, of.last_name});
  of.last_name = static_cast<std::int32_t>(here_.num_names++);
  ++of.num_names;
  ++here_.num_open;
  return true;
}

void json_names::back_to(const place& earlier) {
  for (; names_.size() > earlier.num_names; names_.pop_back()) {
    container& of = containers_[index(names_.back().container)];
    of.last_name = names_.back().before;
    --of.num_names;
  }
  containers_.resize(earlier.num_containers);
  raw_.resize(earlier.raw_size);
  here_ = earlier;
}

}  // namespace troupe::grammar
