// Readings of NVML on a thread of its own: a driver that is in trouble may not answer for as long as it
// likes, and nobody who wants to know of a device is to wait for it.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "metrics/nvml.hpp"

namespace troupe::metrics {

class nvml_watch {
 public:
  // As nvml has it. Neither library nor thread is there before a device is named.
  explicit nvml_watch(std::string library);
  // Does not wait for an answer of the library that does not come.
  ~nvml_watch();
  nvml_watch(const nvml_watch&) = delete;
  nvml_watch& operator=(const nvml_watch&) = delete;

  // What was read of the device at this place of the PCI bus lately; empty: of none. It is read once a second
  // from now on, for a minute. Nothing until it has been read for the first time, where nvml::read() tells
  // nothing, and where the library has not answered for some seconds. Any thread.
  std::optional<nvml_reading> read(const std::string& bus_id);

 private:
  struct shared;
  std::shared_ptr<shared> shared_;  // with the thread, which outlives this object where it hangs
};

}  // namespace troupe::metrics
