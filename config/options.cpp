// The list of all options, and finding one in it.
#include <algorithm>
#include <iterator>

#include "config/option_table.hpp"
#include "config/spelling.hpp"

namespace troupe::config {
namespace {

// In the order of --help and the README.
std::vector<option> all_options() {
  std::vector<option> all;
  for (auto concern :
       {model_options, engine_options, scheduler_options, kv_cache_options, grammar_options,
        bucketing_options, warm_up_options, server_options, admin_options, logging_options, trace_options}) {
    std::ranges::move(concern(), std::back_inserter(all));
  }
  return all;
}

}  // namespace

std::string flag_of(std::string_view name) {
  std::string text = "--" + std::string(name);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::string variable_of(std::string_view name) {
  std::string text = "TROUPE_" + std::string(name);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return text;
}

std::string option::flag() const { return flag_of(name); }
std::string option::variable() const { return variable_of(name); }

std::span<const option> options() {
  static const std::vector<option> all = all_options();
  return all;
}

const option* find_option(std::string_view name) {
  const auto all = options();
  const auto found = std::find_if(all.begin(), all.end(), [&](const option& which) {
    return which.name == name || std::ranges::find(which.aliases, name) != which.aliases.end();
  });
  return found == all.end() ? nullptr : &*found;
}

std::string_view nearest_option(std::string_view name) {
  std::vector<std::string_view> names;
  for (const option& candidate : options()) names.push_back(candidate.name);
  return nearest_name(name, names);
}

}  // namespace troupe::config
