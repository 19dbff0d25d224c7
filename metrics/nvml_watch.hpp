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

  // From now on this device is read once a second, until ten minutes after the last question; empty: none is.
  // Any thread.
  void watch(const std::string& bus_id);
  // What was read last of it. Nothing before the first reading, where nvml::read() tells nothing, and where
  // the library has not answered for some seconds. Any thread.
  std::optional<nvml_reading> latest();

 private:
  struct reader;
  std::shared_ptr<reader> reader_;  // the thread's too, which outlives this object where it hangs
};

}  // namespace troupe::metrics
