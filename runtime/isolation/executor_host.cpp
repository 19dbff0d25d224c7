#include "runtime/isolation/executor_host.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/executor/cpu/packed_model.hpp"
#include "runtime/executor/cpu/step_plan.hpp"
#include "runtime/isolation/call_server.hpp"
#include "runtime/isolation/child_process.hpp"
#include "runtime/isolation/crash_signals.hpp"
#include "runtime/isolation/step_messages.hpp"

namespace troupe {
namespace {

// One executor, and what its steps are read into.
struct hosted_executor {
  std::unique_ptr<executor> device;
  received_batch received;
  step_masks masks;
  step_result sampled;
  step_plan plan;
  bool can_sample = false;  // there are hidden states
};

class executor_host {
 public:
  executor_host(call_channel calls, std::span<const int> files, const executor_opener& open,
                const std::function<void(const std::string&)>& last_words)
      : calls_(std::move(calls)), files_(files), open_(open), last_words_(last_words) {}

  [[noreturn]] void run() {
    while (true) answer(calls_.next_call());
  }

 private:
  void answer(const call_header& asked) try {
    const result<flat_writer> answered = asked.call == executor_call::open ? open() : call(asked);
    if (answered) return calls_.reply(call_outcome::value, *answered);
    flat_writer to = calls_.answer();
    write(to, answered.error());
    calls_.reply(call_outcome::failure, to);
  } catch (const device_lost& fault) {
    last_words_(fmt::format("runner process: the device is lost: {}", fault.what()));
    std::_Exit(device_lost_exit);
  } catch (const out_of_device_memory& fault) {
    reply(call_outcome::shortage, fault);
  } catch (const std::exception& fault) {
    reply(call_outcome::fault, fault);
  }

  void reply(call_outcome outcome, const std::exception& fault) {
    flat_writer to = calls_.answer();
    to.text(fault.what());
    calls_.reply(outcome, to);
  }

  result<flat_writer> open() {
    executor_setup setup;
    flat_reader from = calls_.message();
    read(from, setup);
    result<std::unique_ptr<executor>> opened = open_(setup, files_);
    if (!opened) return tl::unexpected(opened.error());
    opened_executor told;
    told.device = num_opened_++;
    hosted_executor& added = hosted_[told.device];
    added.device = std::move(*opened);
    told.layout = added.device->layout();
    told.kernel_path = added.device->kernel_path();
    told.overlaps = added.device->overlaps();
    told.has_figures = added.device->figures().has_value();
    if (const step_plans* plans = added.device->plans()) {
      told.has_plans = true;
      told.plan_shape = plans->shape();
    }
    flat_writer to = calls_.answer();
    write(to, told);
    return to;
  }

  result<flat_writer> call(const call_header& asked) {
    hosted_executor& of = hosted_.at(asked.device);
    flat_reader from = calls_.message();
    switch (asked.call) {
      case executor_call::open:
        break;
      case executor_call::reserve_steps:
        return reserve_steps(*of.device, from);
      case executor_call::profile:
        return profile(*of.device);
      case executor_call::choices:
        return choices(*of.device);
      case executor_call::use_choices:
        of.device->use_choices(from.text());
        return calls_.answer();
      case executor_call::take_kv_cache:
        return take_kv_cache(*of.device, from);
      case executor_call::forward:
        return forward(of, from);
      case executor_call::sample:
        return sample(of, from);
      case executor_call::begin_sample:
        return begin_sample(of, from);
      case executor_call::collect:
        return collect(of);
      case executor_call::load_dummy_hidden_states:
        of.device->load_dummy_hidden_states(from.value<std::int32_t>());
        of.can_sample = true;
        return calls_.answer();
      case executor_call::synchronize:
        of.device->synchronize();
        return calls_.answer();
      case executor_call::figures:
        return figures(*of.device);
      case executor_call::close:
        hosted_.erase(asked.device);
        return calls_.answer();
    }
    throw std::invalid_argument("a call that nobody knows");
  }

  result<flat_writer> reserve_steps(executor& device, flat_reader from) {
    const auto rows = from.value<std::int32_t>();
    const auto sequences = from.value<std::int32_t>();
    if (const result<void> reserved = device.reserve_steps(rows, sequences); !reserved)
      return tl::unexpected(reserved.error());
    return calls_.answer();
  }

  result<flat_writer> profile(executor& device) {
    const result<memory_profile> measured = device.profile();
    if (!measured) return tl::unexpected(measured.error());
    flat_writer to = calls_.answer();
    to.value(*measured);
    return to;
  }

  result<flat_writer> choices(const executor& device) {
    flat_writer to = calls_.answer();
    to.text(device.choices());
    return to;
  }

  result<flat_writer> take_kv_cache(executor& device, flat_reader from) {
    const auto claim = from.value<kv_cache_claim>();
    if (const result<void> taken = device.take_kv_cache(claim); !taken) return tl::unexpected(taken.error());
    flat_writer to = calls_.answer();
    write(to, device.layout());
    return to;
  }

  result<flat_writer> figures(executor& device) {
    const std::optional<device_figures> told = device.figures();
    flat_writer to = calls_.answer();
    to.flag(told.has_value());
    if (told) write(to, *told);
    return to;
  }

  // The service chooses plans: it sends the one of each step along.
  void use_plan(hosted_executor& of, flat_reader& from) {
    of.plan = from.value<step_plan>();
    if (step_plans* plans = of.device->plans()) plans->try_out(&of.plan);
  }

  // Answered when it is over: the service does not wait for that unless it has to. But a device that goes on
  // by itself is asked for what comes next.
  result<flat_writer> forward(hosted_executor& of, flat_reader from) {
    of.can_sample = false;
    use_plan(of, from);
    read(from, of.received);
    of.device->forward(of.received.batch);
    if (!of.device->overlaps()) of.device->synchronize();
    of.can_sample = true;
    return calls_.answer();
  }

  // What was not known when the batch came; the masks, where there are any.
  static const step_masks* read_rest(hosted_executor& of, flat_reader& from) {
    const bool has_histories = from.flag();
    if (has_histories) read_histories(from, of.received.batch);
    const bool has_masks = from.flag();
    if (has_masks) read(from, of.masks);
    return has_masks ? &of.masks : nullptr;
  }

  // May have been asked for before it was known that the step has failed.
  result<flat_writer> sample(hosted_executor& of, flat_reader from) {
    if (!of.can_sample) throw std::logic_error("a step that has failed cannot be sampled");
    use_plan(of, from);
    const bool has_batch = from.flag();
    if (has_batch) read(from, of.received);
    const step_masks* masks = read_rest(of, from);
    of.device->sample(of.received.batch, masks, of.sampled);
    flat_writer to = calls_.answer();
    write(to, of.sampled, of.received.batch);
    return to;
  }

  result<flat_writer> begin_sample(hosted_executor& of, flat_reader from) {
    if (!of.can_sample) throw std::logic_error("a step that has failed cannot be sampled");
    const step_masks* masks = read_rest(of, from);
    const bool has_begun = of.device->begin_sample(of.received.batch, masks);
    flat_writer to = calls_.answer();
    to.flag(has_begun);
    return to;
  }

  result<flat_writer> collect(hosted_executor& of) {
    const bool is_there = of.device->collect(of.sampled);
    flat_writer to = calls_.answer();
    to.flag(is_there);
    if (is_there) write(to, of.sampled);
    return to;
  }

  call_server calls_;
  std::span<const int> files_;
  const executor_opener& open_;
  const std::function<void(const std::string&)>& last_words_;
  std::uint32_t num_opened_ = 0;
  std::map<std::uint32_t, hosted_executor> hosted_;  // by number; plans in use are pointed to
};

// Those that the service has left open: so many, one behind another. Nothing where one of them is none.
std::vector<int> inherited_descriptors(int count) {
  std::vector<int> all;
  for (int each = child_process::first_descriptor; each < child_process::first_descriptor + count; ++each) {
    if (::fcntl(each, F_GETFD) < 0) return {};
    all.push_back(each);
  }
  return all;
}

}  // namespace

namespace {

result<int> file_of(const executor_setup& setup, std::span<const int> files, std::int32_t place) {
  const auto count = static_cast<std::int32_t>(files.size());
  if (setup.model_file < 0 || setup.model_file >= count || place < 0 || place >= count)
    return fail(error_code::invalid_argument, "a runner process without its model");
  return files[static_cast<std::size_t>(place)];
}

result<model_ptr> model_of(const executor_setup& setup, std::span<const int> files) {
  const result<int> file = file_of(setup, files, setup.model_file);
  if (!file) return tl::unexpected(file.error());
  // Not opened anew: who may do that, and what lies at the path, may be otherwise by now.
  std::error_code ignored;
  const auto name = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", *file), ignored);
  return load_model(*file, name.string());
}

}  // namespace

result<std::unique_ptr<executor>> open_cpu_executor(const executor_setup& setup, std::span<const int> files) {
  const result<int> packed = file_of(setup, files, setup.packed_weights);
  if (!packed) return tl::unexpected(packed.error());
  const result<model_ptr> model = model_of(setup, files);
  if (!model) return tl::unexpected(model.error());
  result<page_memory> matrices = page_memory::map_shared(*packed, false);
  if (!matrices) return tl::unexpected(matrices.error());
  result<packed_model> weights = map_packed_model(**model, std::move(*matrices));
  if (!weights) return tl::unexpected(weights.error());
  cpu_executor_options options = setup.options;
  options.weights = std::make_shared<const packed_model>(std::move(*weights));
  return load_cpu_executor(*model, options);
}

result<std::unique_ptr<executor>> open_executor(const executor_setup& setup, std::span<const int> files,
                                                const cuda_support& cuda) {
  if (!setup.cuda) return open_cpu_executor(setup, files);
  if (!cuda.open) return tl::unexpected<error>(built_without_cuda());
  const result<model_ptr> model = model_of(setup, files);
  if (!model) return tl::unexpected(model.error());
  return cuda.open(*model, setup.options, *setup.cuda);
}

void say_on_stderr(const std::string& line) {
  const std::string_view text = std::string_view(line).substr(0, 500);  // less than PIPE_BUF: taken whole
  pollfd taker{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&taker, 1, 0) != 1 || (taker.revents & POLLOUT) == 0) return;
  char end = '\n';
  const std::array<iovec, 2> parts{iovec{const_cast<char*>(text.data()), text.size()}, iovec{&end, 1}};
  [[maybe_unused]] const ssize_t written = ::writev(STDERR_FILENO, parts.data(), parts.size());
}

result<void> host_executors(pid_t parent, int num_descriptors, const executor_opener& open,
                            const std::function<void(const std::string&)>& last_words) {
  ::pthread_setname_np(::pthread_self(), "troupe-runner");  // it was started as /proc/self/exe
  end_by_sent_crash_signals();
  if (!end_with_parent(parent))
    return fail(error_code::unavailable, "the service that started this runner process is gone");
  const std::vector<int> descriptors = inherited_descriptors(num_descriptors);
  if (descriptors.size() < call_channel::num_descriptors)
    return fail(error_code::invalid_argument, "a runner process is started by its service alone");
  const std::span<const int> all = descriptors;
  result<call_channel> calls = call_channel::inherit(all.first(call_channel::num_descriptors));
  if (!calls) return tl::unexpected(calls.error());
  executor_host(std::move(*calls), all.subspan(call_channel::num_descriptors), open, last_words).run();
}

}  // namespace troupe
