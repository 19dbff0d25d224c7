#include "actors/executor_place.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace troupe {

// Kept open, so that a process that starts later reads the same file, whatever lies at its path by then.
class executor_place::open_file {
 public:
  explicit open_file(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~open_file() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  int descriptor() const { return descriptor_; }
  bool lies_at(const std::string& path) const {
    struct stat own {};
    struct stat there {};
    return ::fstat(descriptor_, &own) == 0 && ::stat(path.c_str(), &there) == 0 &&
           own.st_ino == there.st_ino && own.st_dev == there.st_dev;
  }

 private:
  int descriptor_;
};

result<model_ptr> executor_place::add_model(const std::string& path) {
  const auto file = std::make_shared<open_file>(path);
  packed_file added;
  auto model = load_model(path);
  if (!model) return model;
  if (isolation_ && !file->lies_at(path))
    return fail(error_code::io_error, fmt::format("{} has changed while it was read: try again", path));
  added.model = std::move(*model);
  auto packed = pack_model(*added.model, isolation_ ? packed_for::all_processes : packed_for::this_process);
  if (!packed) return tl::unexpected(packed.error());
  if (isolation_) {
    added.file = file;
    packed->memory.unmap();
    added.matrices = std::make_shared<page_memory>(std::move(packed->memory));
  } else {
    added.weights = std::make_shared<const packed_model>(std::move(*packed));
  }
  return files_.emplace_back(std::move(added)).model;
}

std::vector<int> executor_place::descriptors() const {
  std::vector<int> all;
  for (const packed_file& each : files_) {
    all.push_back(each.file->descriptor());
    all.push_back(each.matrices->descriptor());
  }
  return all;
}

result<void> executor_place::begin() {
  if (!isolation_) return {};
  if (const auto last = current()) last->end();
  auto started = runner_process::start(*isolation_, descriptors());
  if (!started) return tl::unexpected(started.error());
  spdlog::info("runner process {} started", (*started)->id());
  const std::lock_guard lock(mutex_);
  begun_ = std::move(*started);
  process_ = begun_;
  return {};
}

result<std::unique_ptr<executor>> executor_place::load(std::size_t number,
                                                       const cpu_executor_options& options) {
  if (isolation_) return load_there(number, options);
  cpu_executor_options with_weights = options;
  with_weights.weights = files_[number].weights;
  return load_cpu_executor(files_[number].model, with_weights);
}

std::shared_ptr<runner_process> executor_place::current() {
  const std::lock_guard lock(mutex_);
  return process_.lock();
}

result<std::unique_ptr<executor>> executor_place::load_there(std::size_t number,
                                                             const cpu_executor_options& options) {
  const std::shared_ptr<runner_process> process = current();
  if (!process) return fail(error_code::unavailable, "the runner process is gone");
  const auto first = static_cast<std::int32_t>(2 * number);
  auto opened = process->open({first, first + 1, options});
  const std::lock_guard lock(mutex_);
  begun_.reset();
  return opened;
}

pid_t executor_place::process_id() {
  const auto process = current();
  return process ? process->id() : 0;
}

void executor_place::kill() {
  if (const auto process = current()) process->kill();
}

}  // namespace troupe
