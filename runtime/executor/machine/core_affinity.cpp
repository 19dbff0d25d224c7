#include "runtime/executor/machine/core_affinity.hpp"

#include <sched.h>

#include <span>

namespace troupe {
namespace {

cpu_set_t mask_of(std::span<const std::int32_t> cores) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const std::int32_t core : cores) CPU_SET(static_cast<std::size_t>(core), &mask);
  return mask;
}

// Of the calling thread; false where the system does not say.
bool read_mask(cpu_set_t& mask) {
  CPU_ZERO(&mask);
  return ::sched_getaffinity(0, sizeof(mask), &mask) == 0;
}

// False where the system refuses.
bool set_mask(const cpu_set_t& mask) { return ::sched_setaffinity(0, sizeof(mask), &mask) == 0; }

bool may_run_on_exactly(std::span<const std::int32_t> cores) {
  cpu_set_t now;
  const cpu_set_t wanted = mask_of(cores);
  return read_mask(now) && CPU_EQUAL(&now, &wanted);
}

}  // namespace

std::vector<std::int32_t> allowed_cores() {
  std::vector<std::int32_t> cores;
  cpu_set_t mask;
  if (!read_mask(mask)) return cores;
  for (std::int32_t core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(static_cast<std::size_t>(core), &mask)) cores.push_back(core);
  return cores;
}

void stay_on(std::int32_t core) { set_mask(mask_of({&core, 1})); }

core_stay::core_stay(std::int32_t core, const std::vector<std::int32_t>& all)
    : all_(all), stays_(may_run_on_exactly(all) && set_mask(mask_of({&core, 1}))) {}

core_stay::~core_stay() {
  if (stays_) set_mask(mask_of(all_));
}

}  // namespace troupe
