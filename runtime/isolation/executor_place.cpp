#include "runtime/isolation/executor_place.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

namespace troupe {

result<model_ptr> executor_place::read(const std::string& path, packed_file& into) const {
  if (!isolation_) return load_model(path);
  const auto file = std::make_shared<const kept_file>(path);
  if (file->descriptor() < 0) return load_model(path);  // says why not
  into.file = file;
  return load_model(file->descriptor(), path);
}

result<model_ptr> executor_place::add_model(const std::string& path) {
  packed_file added;
  auto model = read(path, added);
  if (!model) return model;
  if (isolation_ && !added.file)
    return fail(error_code::io_error, fmt::format("{} could not be opened at first: try again", path));
  added.model = std::move(*model);
  if (!cuda_)
    if (const auto packed = pack(added); !packed) return tl::unexpected(packed.error());
  return files_.emplace_back(std::move(added)).model;
}

result<void> executor_place::pack(packed_file& file) const {
  auto packed = pack_model(*file.model, isolation_ ? packed_for::all_processes : packed_for::this_process);
  if (!packed) return tl::unexpected(packed.error());
  if (isolation_) {
    packed->memory.unmap();
    file.matrices = std::make_shared<page_memory>(std::move(packed->memory));
  } else {
    file.weights = std::make_shared<const packed_model>(std::move(*packed));
  }
  return {};
}

result<void> executor_place::turn_to_cpu() {
  for (packed_file& each : files_) {
    if (each.matrices || each.weights) continue;
    if (auto packed = pack(each); !packed) return packed;
  }
  cuda_.reset();
  return {};
}

std::vector<int> executor_place::descriptors() const {
  std::vector<int> all;
  for (const packed_file& each : files_) {
    all.push_back(each.file->descriptor());
    all.push_back(each.matrices ? each.matrices->descriptor() : each.file->descriptor());
  }
  return all;
}

executor_setup executor_place::setup_of(std::size_t number, const cpu_executor_options& options) const {
  const auto first = static_cast<std::int32_t>(2 * number);  // of the two of each model
  return {.model_file = first, .packed_weights = first + 1, .options = options, .cuda = cuda_};
}

result<void> executor_place::begin() {
  if (!isolation_) return {};
  for (const packed_file& each : files_)
    if (auto unchanged = each.file->check_unchanged(each.matrices != nullptr); !unchanged) return unchanged;
  double used = 0;
  if (const auto last = process()) {
    last->kill();
    used = last->cpu_seconds();
  }
  auto started = runner_process::start(*isolation_, descriptors());
  const std::lock_guard lock(mutex_);
  ended_cpu_seconds_ += used;
  handle_ = started ? (*started)->handle() : nullptr;
  if (!started) return tl::unexpected(started.error());
  begun_ = std::move(*started);
  process_ = begun_;
  return {};
}

result<std::unique_ptr<executor>> executor_place::load(std::size_t number,
                                                       const cpu_executor_options& options) {
  if (isolation_) return load_there(number, options);
  if (cuda_) return support_.open(files_[number].model, options, *cuda_);
  cpu_executor_options with_weights = options;
  with_weights.weights = files_[number].weights;
  return load_cpu_executor(files_[number].model, with_weights);
}

result<std::unique_ptr<executor>> executor_place::load_there(std::size_t number,
                                                             const cpu_executor_options& options) {
  const std::shared_ptr<runner_process> process = process_.lock();
  begun_.reset();  // `process` owns it until this has its executor
  if (!process) return fail(error_code::unavailable, "the runner process is gone");
  return process->open(setup_of(number, options));
}

std::shared_ptr<process_handle> executor_place::process() const {
  const std::lock_guard lock(mutex_);
  return handle_;
}

double executor_place::ended_cpu_seconds() const {
  const std::lock_guard lock(mutex_);
  return ended_cpu_seconds_;
}

}  // namespace troupe
