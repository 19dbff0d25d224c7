// Where the executors of a model and of its draft model run: in this process, or in a process of their own.
#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/executor/cpu/cpu_executor.hpp"
#include "runtime/executor/cpu/packed_model.hpp"
#include "runtime/executor/cuda_support.hpp"
#include "runtime/isolation/kept_file.hpp"
#include "runtime/isolation/runner_process.hpp"
#include "runtime/model/model.hpp"
#include "runtime/result.hpp"

namespace troupe {

class executor_place {
 public:
  // `isolation`: the program of the processes; nothing: this process. `cuda`: the device of the executors,
  // opened by `support` where that is in this process; nothing: the CPU.
  explicit executor_place(std::optional<runner_program> isolation, std::optional<cuda_choice> cuda = {},
                          cuda_support support = {})
      : isolation_(std::move(isolation)), cuda_(std::move(cuda)), support_(std::move(support)) {}

  // Reads a model's file and packs its weights for the CPU, once for all executors; the first model is number
  // 0. All of them before the first executor. Errors: those of load_model and pack_model; io_error.
  result<model_ptr> add_model(const std::string& path);

  // The numbers of rows that decode steps have graphs for, on a CUDA device. Before the first executor.
  void set_graph_rows(std::vector<std::int32_t> rows) {
    if (cuda_) cuda_->graph_rows = std::move(rows);
  }

  // Executors from here on are the CPU's; where they were a CUDA device's, the weights are packed for it.
  // begin() comes next. Errors: those of pack_model; what there was stays.
  result<void> turn_to_cpu();

  // Executors from here on have nothing in common with those before but the weights: a new process, once the
  // last one is gone. Errors: those of runner_process::start(); unavailable where a model's file has been
  // written to.
  result<void> begin();
  // An executor of model `number`, its start still to come. Errors: those of load_cpu_executor or
  // cuda_support::open, and begin().
  result<std::unique_ptr<executor>> load(std::size_t number, const cpu_executor_options& options);

  bool is_isolated() const { return isolation_.has_value(); }
  // The process that was started last; null: there is none. Any thread.
  std::shared_ptr<process_handle> process() const;
  // Seconds of CPU time that the processes before it have used. Any thread.
  double ended_cpu_seconds() const;

 private:
  struct packed_file {
    model_ptr model;
    std::shared_ptr<const packed_model> weights;  // in this process
    std::shared_ptr<const kept_file> file;        // for another, with ...
    std::shared_ptr<page_memory> matrices;        // ... the weights, which it maps; null for a CUDA device
  };
  result<model_ptr> read(const std::string& path, packed_file& into) const;
  result<void> pack(packed_file& file) const;
  // What a process inherits, and where among it a model lies.
  std::vector<int> descriptors() const;
  executor_setup setup_of(std::size_t number, const cpu_executor_options& options) const;
  result<std::unique_ptr<executor>> load_there(std::size_t number, const cpu_executor_options& options);

  std::optional<runner_program> isolation_;
  std::optional<cuda_choice> cuda_;
  cuda_support support_;
  std::vector<packed_file> files_;
  std::weak_ptr<runner_process> process_;  // of the executors opened last, its owners
  std::shared_ptr<runner_process> begun_;  // nothing is open in it yet
  mutable std::mutex mutex_;               // of what others ask for:
  std::shared_ptr<process_handle> handle_;
  double ended_cpu_seconds_ = 0;
};

}  // namespace troupe
