// What the files of options are written with: one builder per kind of value, one function per concern.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "config/options.hpp"

namespace troupe::config {

inline constexpr std::int64_t kib = 1LL << 10U;
inline constexpr std::int64_t mib = 1LL << 20U;
inline constexpr std::int64_t gib = 1LL << 30U;
inline constexpr std::int64_t tib = 1LL << 40U;
inline constexpr std::int64_t second = 1000;  // durations are counted in milliseconds
inline constexpr std::int64_t day = 86'400 * second;

// `choices`: what the text may be; empty: anything.
inline option text_option(std::string_view name, option_group group, std::string settings::*member,
                          std::string_view help, std::vector<std::string_view> choices = {}) {
  return {name, group, member, 0, 0, 1, std::move(choices), {}, help};
}
// The ranges are inclusive.
inline option number_option(std::string_view name, option_group group, std::int32_t settings::*member,
                            std::int64_t low, std::int64_t high, std::string_view help,
                            std::int32_t multiple_of = 1) {
  return {name, group, member, low, high, multiple_of, {}, {}, help};
}
// Bytes.
inline option size_option(std::string_view name, option_group group, std::uint64_t settings::*member,
                          std::int64_t low, std::int64_t high, std::string_view help) {
  return {name, group, member, low, high, 1, {}, {}, help};
}
// Milliseconds.
inline option duration_option(std::string_view name, option_group group,
                              std::chrono::milliseconds settings::*member, std::int64_t low,
                              std::int64_t high, std::string_view help) {
  return {name, group, member, low, high, 1, {}, {}, help};
}
// `low` and `high` in thousandths.
inline option ratio_option(std::string_view name, option_group group, double settings::*member,
                           std::int64_t low, std::int64_t high, std::string_view help) {
  return {name, group, member, low, high, 1, {}, {}, help};
}
// On or off: --name, --no-name, --name=false.
inline option switch_option(std::string_view name, option_group group, bool settings::*member,
                            std::string_view help) {
  return {name, group, member, 0, 1, 1, {}, {}, help};
}
// A number, or "auto".
inline option auto_option(std::string_view name, option_group group,
                          std::optional<std::int32_t> settings::*member, std::int64_t low, std::int64_t high,
                          std::string_view help) {
  return {name, group, member, low, high, 1, {}, {}, help};
}
// Of a number with multiple_of: its divisors will do too.
inline option or_divisor(option which) {
  which.or_divisor = true;
  return which;
}
// What a running program can follow; see config/reload.hpp.
inline option reloadable(option which) {
  which.reloads = true;
  return which;
}
// The same option under the names that other programs give it.
inline option with_aliases(option which, std::vector<std::string_view> aliases) {
  which.aliases = std::move(aliases);
  return which;
}

// Also read from a variable that other programs know.
inline option with_variable(option which, std::string_view variable) {
  which.common_variable = variable;
  return which;
}

std::vector<option> model_options();
std::vector<option> engine_options();
std::vector<option> scheduler_options();
std::vector<option> kv_cache_options();
std::vector<option> grammar_options();
std::vector<option> bucketing_options();
std::vector<option> warm_up_options();
std::vector<option> server_options();
std::vector<option> admin_options();
std::vector<option> logging_options();
std::vector<option> trace_options();

}  // namespace troupe::config
