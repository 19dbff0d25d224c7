// The list of all options, and finding one in it.
#include <algorithm>
#include <iterator>

#include "config/option_table.hpp"

namespace troupe::config {
namespace {

// In the order of --help and the README.
std::vector<option> all_options() {
  std::vector<option> all;
  for (auto concern : {model_options, engine_options, scheduler_options, kv_cache_options, bucketing_options,
                       warm_up_options, server_options, logging_options}) {
    std::ranges::move(concern(), std::back_inserter(all));
  }
  return all;
}

// Levenshtein distance; a transposition counts two.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
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
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  if (name.size() > 64) return best;
  for (const option& candidate : options()) {
    const std::size_t distance = edit_distance(name, candidate.name);
    if (distance < best_distance) {
      best = candidate.name;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace troupe::config
