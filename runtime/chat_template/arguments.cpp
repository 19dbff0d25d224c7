#include "runtime/chat_template/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace troupe::jinja {
namespace {

struct parameter_list {
  std::array<std::string_view, 8> names;  // no callee has more
  std::size_t count = 0;
  bool more = false;
};

parameter_list read_parameters(std::string_view text) {
  parameter_list read;
  while (!text.empty()) {
    const auto name = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(name.size() + 1, text.size()));
    if (name == "...") {
      read.more = true;
    } else if (read.count < read.names.size()) {
      read.names[read.count++] = name;
    }
  }
  return read;
}

}  // namespace

bool arguments::settle(budget& spent, std::string_view callee, std::string_view parameters) {
  const auto known = read_parameters(parameters);
  if (positional.size() > known.count && !known.more) {
    spent.fail(fmt::format("{} takes {} arguments at most", callee, known.count));
    return false;
  }
  std::vector<std::pair<std::string, value>> others;
  for (auto& [name, given] : named) {
    const auto* const end = known.names.begin() + known.count;
    const auto* const found = std::find(known.names.begin(), end, name);
    const auto place = static_cast<std::size_t>(found - known.names.begin());
    if (found == end && known.more) {
      others.emplace_back(std::move(name), std::move(given));
    } else if (found == end) {
      spent.fail(fmt::format("{} takes no argument '{}'", callee, name));
      return false;
    } else if (find(place)) {
      spent.fail(fmt::format("{} is given '{}' twice", callee, name));
      return false;
    } else {
      if (positional.size() <= place) positional.resize(place + 1);
      positional[place] = std::move(given);
    }
  }
  named = std::move(others);
  return true;
}

}  // namespace troupe::jinja
