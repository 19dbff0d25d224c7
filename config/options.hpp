// One table describes every option once. TOML keys, environment variables, flags, --help and the README
// follow from it.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

#include "config/settings.hpp"

namespace troupe::config {

enum class option_group { model, engine, bucketing, server, logging };

// Where an option's value lives: text, an integer, a size in bytes, a duration, a ratio, a switch or an
// integer that may be left to the program ("auto").
using option_member =
    std::variant<std::string settings::*, std::int32_t settings::*, std::uint64_t settings::*,
                 std::chrono::milliseconds settings::*, double settings::*, bool settings::*,
                 std::optional<std::int32_t> settings::*>;

struct option {
  std::string_view name;  // the TOML key: "max_num_seqs"
  option_group group;
  option_member member;
  std::int64_t low = 0;  // numbers: the inclusive range, in units of 1, bytes, milliseconds or thousandths
  std::int64_t high = 0;
  std::int32_t multiple_of = 1;
  std::vector<std::string_view> choices;  // text: what it may be; empty: anything
  std::vector<std::string_view> aliases;  // other names that are read as this one
  std::string_view help;
  bool or_divisor = false;                // a divisor of multiple_of will do too
  bool reloads = false;                   // may change while the program runs
  std::string_view common_variable = {};  // that other programs read as well; gives way to all other sources

  bool is_switch() const { return std::holds_alternative<bool settings::*>(member); }
  std::string flag() const;      // "--max-num-seqs"
  std::string variable() const;  // "TROUPE_MAX_NUM_SEQS"
  // The kind of value for people: "TEXT", "N", "SIZE", "TIME", "RATIO" or the choices.
  std::string value_name() const;
  // The allowed range or choices in words: "1 to 4096, a multiple of 16"; empty: anything.
  std::string range() const;
};

// In the order in which --help and the README list them.
std::span<const option> options();
// By its name or one of its aliases; nullptr where there is none.
const option* find_option(std::string_view name);
// An option's name as a flag and as a variable of the environment.
std::string flag_of(std::string_view name);
std::string variable_of(std::string_view name);
// The known name that is closest to a misspelt one; empty where none is close.
std::string_view nearest_option(std::string_view name);

// Reads `text` as the option's kind, checks its range and stores it: "64", "1GiB", "1.5 MiB", "15", "15s",
// "500ms", "0.9", "true", "auto". The error says what was expected and what came, without where it came from.
tl::expected<void, std::string> assign(settings& target, const option& target_option, std::string_view text);
// The option's value in the form that assign() reads.
std::string value_text(const settings& source, const option& source_option);

}  // namespace troupe::config
