#include "runtime/chat_template/filters.hpp"

#include <fmt/format.h>

namespace troupe::jinja {
namespace {

const filter* find_filter(std::string_view name) {
  for (const auto* all : {&text_filters(), &number_filters(), &list_filters(), &group_filters()}) {
    const auto found = all->find(name);
    if (found != all->end()) return &found->second;
  }
  return nullptr;
}

}  // namespace

bool has_filter(std::string_view name) { return find_filter(name) != nullptr; }

value call_filter(budget& spent, std::string_view name, const value& input, arguments given) {
  const budget::level level(spent);
  const auto* found = find_filter(name);
  if (!found) return spent.fail(fmt::format("there is no filter '{}'", name));
  if (!spent.spend(input.string() ? 4 * input.size() : 0)) return {};
  return given.settle(spent, name, found->parameters) ? found->call(spent, input, given) : value();
}

}  // namespace troupe::jinja
