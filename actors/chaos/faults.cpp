#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "actors/chaos.hpp"
#include "runtime/executor/executor.hpp"

namespace troupe::chaos {
namespace {

constexpr std::string_view poison = "poison";
constexpr std::string_view hasten = "hasten";

struct planned_fault {
  std::string role;
  std::string fault;
  std::uint64_t every = 0;  // of poison: the token; of hasten: milliseconds
  std::atomic<std::uint64_t> messages{0};

  bool is_of_messages() const { return fault != poison && fault != hasten; }
};

// A deque: atomics do not move.
std::deque<planned_fault> read_plan() {
  std::deque<planned_fault> plan;
  const char* text = std::getenv("TROUPE_CHAOS");
  std::istringstream entries(text == nullptr ? "" : text);
  for (std::string entry; std::getline(entries, entry, ',');) {
    std::istringstream fields(entry);
    std::string every;
    planned_fault& planned = plan.emplace_back();
    std::getline(fields, planned.role, ':');
    std::getline(fields, planned.fault, ':');
    std::getline(fields, every);
    planned.every = std::strtoull(every.c_str(), nullptr, 10);
  }
  return plan;
}

std::deque<planned_fault>& plan() {
  static std::deque<planned_fault> once = read_plan();
  return once;
}

void commit_fault(const planned_fault& planned) {
  if (planned.fault == "throw") throw std::runtime_error("chaos");
  if (planned.fault == "starve") throw out_of_device_memory("chaos");
  if (planned.fault == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(200));
  if (planned.fault == "segfault") std::raise(SIGSEGV);
  while (planned.fault == "hang") std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace

bool meet_message(const char* role, const char* message, bool is_own) {
  bool is_lost = false;
  for (planned_fault& planned : plan()) {
    const bool loses = planned.fault == "lose";
    if (!planned.is_of_messages() || planned.every == 0 || planned.role != role || (loses && is_own))
      continue;
    const std::uint64_t number = ++planned.messages;
    if (number == 1)
      spdlog::warn("chaos: every {}-th message to {} meets {}", planned.every, planned.role, planned.fault);
    if (number % planned.every != 0) continue;
    is_lost = is_lost || loses;
    if (loses) spdlog::debug("chaos: {} has lost {}", role, message);
    commit_fault(planned);
  }
  return is_lost;
}

std::chrono::nanoseconds cut(std::chrono::nanoseconds patience) {
  for (const planned_fault& planned : plan())
    if (planned.fault == hasten)
      patience = std::min<std::chrono::nanoseconds>(patience, std::chrono::milliseconds(planned.every));
  return patience;
}

void meet_tokens(std::span<const std::int32_t> tokens) {
  for (const planned_fault& planned : plan())
    if (planned.fault == poison &&
        std::ranges::find(tokens, static_cast<std::int32_t>(planned.every)) != tokens.end())
      std::raise(SIGSEGV);
}

}  // namespace troupe::chaos
