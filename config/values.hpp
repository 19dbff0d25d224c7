// Numbers, sizes and durations as people write them.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::config {

// "64", "-1". Nothing for anything else, overflow included.
std::optional<std::int64_t> parse_integer(std::string_view text);
// Bytes: "1048576", "512KiB", "1.5 GiB", "2GB" (decimal), case ignored. Nothing for anything else.
std::optional<std::int64_t> parse_size(std::string_view text);
// Milliseconds: "15" (seconds), "1.5s", "500ms", "2m", "1h". Nothing for anything else.
std::optional<std::int64_t> parse_duration(std::string_view text);
// Thousandths: "0.9", "1". Nothing for anything else, more than three decimals included.
std::optional<std::int64_t> parse_ratio(std::string_view text);
// 1: "true", "on", "yes", "1"; 0: "false", "off", "no", "0"; case ignored. Nothing for anything else.
std::optional<std::int64_t> parse_switch(std::string_view text);

// The shortest form that parses back to the same value: "1GiB", "1000B"; "15s", "1500ms"; "0.9".
std::string size_text(std::uint64_t bytes);
std::string duration_text(std::chrono::milliseconds duration);
std::string ratio_text(std::int64_t thousandths);

// With a to z for A to Z.
std::string lower(std::string_view text);
// For error messages: printable, at most 64 characters.
std::string shown(std::string_view text);

}  // namespace troupe::config
