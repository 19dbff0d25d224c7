// Reading, checking and printing the values of options.
#include <algorithm>
#include <cmath>
#include <optional>

#include "config/options.hpp"
#include "config/values.hpp"

namespace troupe::config {
namespace {

constexpr std::string_view automatic = "auto";

template <class... Cases>
struct overloaded : Cases... {
  using Cases::operator()...;
};

tl::unexpected<std::string> out_of_range(const option& which, std::string_view text) {
  return tl::unexpected("must be " + which.range() + ", got '" + shown(text) + "'");
}

bool within(const option& which, std::int64_t number) {
  if (number < which.low || number > which.high) return false;
  const bool divides = which.or_divisor && number != 0 && which.multiple_of % number == 0;
  return divides || number % which.multiple_of == 0;
}

}  // namespace

std::string option::value_name() const {
  if (!choices.empty()) return range();
  return std::visit(
      overloaded{[](std::string settings::*) { return "TEXT"; }, [](std::int32_t settings::*) { return "N"; },
                 [](std::uint64_t settings::*) { return "SIZE"; },
                 [](std::chrono::milliseconds settings::*) { return "TIME"; },
                 [](double settings::*) { return "RATIO"; }, [](bool settings::*) { return "true|false"; },
                 [](std::optional<std::int32_t> settings::*) { return "N|auto"; }},
      member);
}

std::string option::range() const {
  if (!choices.empty()) {
    std::string text;
    for (const std::string_view choice : choices) text += (text.empty() ? "" : "|") + std::string(choice);
    return text;
  }
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  const auto span = [this](const auto& print) {
    return print(low) + " to " + print(high) +
           (multiple_of > 1 ? ", a multiple of " + std::to_string(multiple_of) : "") +
           (or_divisor ? " or a divisor of it" : "");
  };
  return std::visit(
      overloaded{[](std::string settings::*) { return std::string(); },
                 [&](std::int32_t settings::*) { return span(number); },
                 [&](std::uint64_t settings::*) {
                   return span([](std::int64_t n) { return size_text(static_cast<std::uint64_t>(n)); });
                 },
                 [&](std::chrono::milliseconds settings::*) {
                   return span([](std::int64_t n) { return duration_text(std::chrono::milliseconds(n)); });
                 },
                 [&](double settings::*) { return span(ratio_text); },
                 [](bool settings::*) { return std::string("true|false"); },
                 [&](std::optional<std::int32_t> settings::*) { return "auto or " + span(number); }},
      member);
}

tl::expected<void, std::string> assign(settings& target, const option& which, std::string_view text) {
  const auto checked = [&](std::optional<std::int64_t> number, const char* expected,
                           const auto& store) -> tl::expected<void, std::string> {
    if (!number) return tl::unexpected(std::string("expected ") + expected + ", got '" + shown(text) + "'");
    if (!within(which, *number)) return out_of_range(which, text);
    store(*number);
    return {};
  };
  return std::visit(
      overloaded{[&](std::string settings::*member) -> tl::expected<void, std::string> {
                   if (!which.choices.empty() &&
                       std::find(which.choices.begin(), which.choices.end(), text) == which.choices.end()) {
                     return out_of_range(which, text);
                   }
                   if (text.find('\0') != std::string_view::npos) {
                     return tl::unexpected<std::string>("must not contain a NUL character");
                   }
                   target.*member = std::string(text);
                   return {};
                 },
                 [&](std::int32_t settings::*member) {
                   return checked(parse_integer(text), "an integer",
                                  [&](std::int64_t n) { target.*member = static_cast<std::int32_t>(n); });
                 },
                 [&](std::uint64_t settings::*member) {
                   return checked(parse_size(text), "a size such as 512MiB or 1GiB",
                                  [&](std::int64_t n) { target.*member = static_cast<std::uint64_t>(n); });
                 },
                 [&](std::chrono::milliseconds settings::*member) {
                   return checked(parse_duration(text), "a time such as 15s, 500ms or 2m",
                                  [&](std::int64_t n) { target.*member = std::chrono::milliseconds(n); });
                 },
                 [&](double settings::*member) {
                   return checked(parse_ratio(text), "a number of at most three decimals such as 0.9",
                                  [&](std::int64_t n) { target.*member = static_cast<double>(n) / 1000; });
                 },
                 [&](bool settings::*member) {
                   return checked(parse_switch(text), "true or false",
                                  [&](std::int64_t n) { target.*member = n != 0; });
                 },
                 [&](std::optional<std::int32_t> settings::*member) -> tl::expected<void, std::string> {
                   if (text == automatic) {
                     target.*member = std::nullopt;
                     return {};
                   }
                   return checked(parse_integer(text), "an integer or auto",
                                  [&](std::int64_t n) { target.*member = static_cast<std::int32_t>(n); });
                 }},
      which.member);
}

std::string value_text(const settings& source, const option& which) {
  return std::visit(
      overloaded{[&](std::string settings::*m) { return source.*m; },
                 [&](std::int32_t settings::*m) { return std::to_string(source.*m); },
                 [&](std::uint64_t settings::*m) { return size_text(source.*m); },
                 [&](std::chrono::milliseconds settings::*m) { return duration_text(source.*m); },
                 [&](double settings::*m) { return ratio_text(std::llround(source.*m * 1000)); },
                 [&](bool settings::*m) { return std::string(source.*m ? "true" : "false"); },
                 [&](std::optional<std::int32_t> settings::*m) {
                   return source.*m ? std::to_string(*(source.*m)) : std::string(automatic);
                 }},
      which.member);
}

}  // namespace troupe::config
