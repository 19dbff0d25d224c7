#include "runtime/telemetry/trace_context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>

#include "runtime/without_blanks.hpp"

namespace troupe {
namespace {

constexpr std::size_t shortest = 55;  // 00-TRACE-PARENT-FLAGS
constexpr std::size_t most_state = 512;
constexpr int most_members = 32;

// Capital letters are not valid here.
std::optional<std::uint8_t> hex_value(char c) {
  if (c >= '0' && c <= '9') return static_cast<std::uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint8_t>(c - 'a' + 10);
  return std::nullopt;
}

// False where `text` is no hexadecimal number of that many bytes.
bool read_hex(std::string_view text, std::span<std::uint8_t> bytes) {
  if (text.size() != 2 * bytes.size()) return false;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto high = hex_value(text[2 * i]);
    const auto low = hex_value(text[2 * i + 1]);
    if (!high || !low) return false;
    bytes[i] = static_cast<std::uint8_t>(*high << 4U | *low);
  }
  return true;
}

bool is_zero(std::span<const std::uint8_t> bytes) {
  return std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; });
}

std::string hex_text(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

bool is_state_key(std::string_view key) {
  const auto is_lower = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const auto fits = [&](char c) {
    return is_lower(c) || c == '_' || c == '-' || c == '*' || c == '/' || c == '@';
  };
  return !key.empty() && key.size() <= 256 && is_lower(key.front()) && std::ranges::all_of(key, fits);
}

bool is_state_value(std::string_view value) {
  const auto fits = [](char c) { return c >= 0x20 && c <= 0x7e && c != ','; };
  return !value.empty() && value.size() <= 256 && value.find('=') == std::string_view::npos &&
         std::ranges::all_of(value, fits);
}

}  // namespace

std::optional<trace_context> parse_traceparent(std::string_view text) {
  std::array<std::uint8_t, 1> version{};
  std::array<std::uint8_t, 1> flags{};
  trace_context found;
  if (text.size() < shortest || !read_hex(text.substr(0, 2), version) || version[0] == 0xff)
    return std::nullopt;
  const bool has_more = text.size() > shortest;
  if (has_more && (version[0] == 0 || text[shortest] != '-')) return std::nullopt;
  if (text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  const bool valid = read_hex(text.substr(3, 32), found.trace) &&
                     read_hex(text.substr(36, 16), found.parent) && read_hex(text.substr(53, 2), flags);
  if (!valid || is_zero(found.trace) || is_zero(found.parent)) return std::nullopt;
  found.sampled = (flags[0] & 1U) != 0;
  return found;
}

std::string parse_tracestate(std::string_view text) {
  std::string state;
  int members = 0;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view member = without_blanks(text.substr(0, comma), " \t");
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (member.empty()) continue;
    const std::size_t equals = std::min(member.find('='), member.size() - 1);
    if (!is_state_key(member.substr(0, equals)) || !is_state_value(member.substr(equals + 1))) return {};
    if (++members > most_members) return {};
    state += state.empty() ? "" : ",";
    state += member;
  }
  return state.size() <= most_state ? state : std::string();
}

std::optional<trace_context> read_trace_context(std::string_view traceparent, std::string_view tracestate) {
  auto found = parse_traceparent(traceparent);
  if (found) found->state = parse_tracestate(tracestate);
  return found;
}

std::string to_hex(const trace_id& id) { return hex_text(id); }
std::string to_hex(const span_id& id) { return hex_text(id); }

result<trace_sampling> parse_trace_sampling(std::string_view sampler, std::string_view argument) {
  constexpr std::string_view prefix = "parentbased_";
  trace_sampling sampling;
  sampling.asks_parent = sampler.starts_with(prefix);
  const std::string_view root = sampling.asks_parent ? sampler.substr(prefix.size()) : sampler;
  if (root == "always_off") {
    sampling.share = 0;
  } else if (root == "traceidratio") {
    if (argument.empty()) return sampling;
    const auto [end, fault] =
        std::from_chars(argument.data(), argument.data() + argument.size(), sampling.share);
    const bool whole = fault == std::errc() && end == argument.data() + argument.size();
    if (!whole || !(sampling.share >= 0 && sampling.share <= 1))
      return fail(error_code::invalid_argument,
                  fmt::format("otel_traces_sampler_arg '{}' is no share between 0 and 1", argument),
                  "otel_traces_sampler_arg");
  } else if (root != "always_on") {
    return fail(
        error_code::invalid_argument,
        fmt::format(
            "otel_traces_sampler '{}' is none of always_on, always_off, traceidratio, parentbased_always_on, "
            "parentbased_always_off, parentbased_traceidratio",
            sampler),
        "otel_traces_sampler");
  }
  return sampling;
}

// The last eight bytes against the share of their range, as OpenTelemetry's libraries have it: every service
// of a trace decides the same.
bool is_sampled(const trace_sampling& sampling, const std::optional<trace_context>& caller,
                const trace_id& trace) {
  if (sampling.asks_parent && caller) return caller->sampled;
  if (sampling.share >= 1) return true;
  std::uint64_t number = 0;
  for (std::size_t i = 8; i < trace.size(); ++i) number = number << 8U | trace[i];
  return static_cast<double>(number) < sampling.share * 0x1p64;
}

}  // namespace troupe
