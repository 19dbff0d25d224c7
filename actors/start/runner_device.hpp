// What a model runner works with, and the process that it runs in.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/executor/executor.hpp"
#include "runtime/isolation/process_work.hpp"
#include "runtime/result.hpp"

namespace troupe {

class draft_model;

struct runner_device {
  std::shared_ptr<executor> target;
  std::shared_ptr<draft_model> draft;  // null: there is none
};
// Without a draft model where none is wanted.
using device_opener = std::function<result<runner_device>(bool with_draft)>;

// The process that a device runs in, and after it that of the next one. None of it waits; any thread.
struct device_process {
  std::function<std::int32_t()> id = [] { return 0; };      // 0: there is none at the moment
  std::function<bool()> has_ended = [] { return false; };   // that one, by itself or killed
  std::function<bool()> was_killed = [] { return false; };  // that one, by somebody outside
  // What it has done so far, or this one where none is there; nothing: nobody knows.
  std::function<std::optional<process_work>()> work = [] { return std::nullopt; };
  // For the log: "the runner process 17 has ended: signal 9 (Killed)".
  std::function<std::string()> describe_end = [] { return std::string("the runner process has ended"); };
  std::function<std::string()> describe_threads = [] { return std::string(); };  // likewise, before ...
  std::function<void()> kill = [] {};                              // ... this ends a device that hangs
  std::function<double()> ended_cpu_seconds = [] { return 0.0; };  // of those before it
};

}  // namespace troupe
