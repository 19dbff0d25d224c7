#include "runtime/isolation/runner_process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/executor/cpu/packed_model.hpp"
#include "runtime/executor/cpu/step_plan.hpp"
#include "runtime/executor/warm_up/sampler_warm_up.hpp"
#include "runtime/isolation/crash_signals.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"
#include "tests/runtime/isolation/fault_tokens.hpp"
#include "tests/support/gguf_writer.hpp"
#include "tests/support/overlapped_decoding.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

using test::executor_driver;

// A tiny model's file, open, with its weights packed for everybody.
class served_file {
 public:
  served_file() : file_(test::tiny_model({.kind = test::tiny_kind::qwen3})) {
    model = *load_model(file_.path());
    descriptor_ = ::open(file_.path().c_str(), O_RDONLY | O_CLOEXEC);
    auto packed = pack_model(*model, packed_for::all_processes);
    packed->memory.unmap();
    matrices_ = std::move(packed->memory);
  }
  ~served_file() { ::close(descriptor_); }
  served_file(const served_file&) = delete;
  served_file& operator=(const served_file&) = delete;

  std::vector<int> descriptors() const { return {descriptor_, matrices_.descriptor()}; }
  model_ptr model;

 private:
  test::temporary_file file_;
  page_memory matrices_;
  int descriptor_ = -1;
};

executor_setup setup() {
  executor_setup wanted;
  wanted.model_file = 0;
  wanted.packed_weights = 1;
  wanted.options.limits = {.max_rows = 64, .max_sequences = 8, .block_size = 16, .kv_cache_bytes = 8U << 20U};
  wanted.options.threads = 1;
  return wanted;
}

runner_program program(const std::string& word = "any") {
  return {test::runner_program_path(), {"runner", word}};
}

std::unique_ptr<executor> started(std::unique_ptr<executor> device) {
  EXPECT_TRUE(device->reserve_steps(64, 8).has_value());
  EXPECT_TRUE(device->profile().has_value());
  EXPECT_TRUE(device->take_kv_cache({}).has_value());
  return device;
}

class runner_processes : public testing::Test {
 protected:
  std::shared_ptr<runner_process> start() {
    auto process = runner_process::start(program(), file.descriptors());
    EXPECT_TRUE(process.has_value()) << process.error().message;
    return *process;
  }
  static std::unique_ptr<executor> open(const std::shared_ptr<runner_process>& process) {
    auto opened = process->open(setup());
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    return started(std::move(*opened));
  }
  std::unique_ptr<executor> local() {
    auto made = load_cpu_executor(file.model, setup().options);
    return started(std::move(*made));
  }
  // A step that begins with this token.
  static void run(executor& device, token_id first) {
    executor_driver driver(device);
    driver.generate(driver.add({first, 9, 10}, test::greedy()), 1);
  }

  served_file file;
};

// Requests of every kind side by side, with all that a step may bring back.
std::vector<sampling_params> kinds_of_requests(std::int32_t vocab_size) {
  std::vector<sampling_params> kinds(6, test::greedy());
  kinds[0].logprobs = vocab_size;
  kinds[1].temperature = 0.9F;
  kinds[1].top_k = 40;
  kinds[1].top_p = 0.9F;
  kinds[1].seed = 0xfedcba9876543210ULL;
  kinds[2].temperature = 1.3F;
  kinds[2].min_p = 0.02F;
  kinds[2].seed = 7;
  kinds[2].presence_penalty = 0.7F;
  kinds[2].frequency_penalty = 0.3F;
  kinds[2].repetition_penalty = 1.2F;
  kinds[3].logit_bias = {{20, 100.0F}, {21, -100.0F}};
  kinds[3].logprobs = 0;
  kinds[4].min_tokens = 100;
  kinds[4].stop_token_ids = {20, 21, 22, 23, 24, 25};
  kinds[5].temperature = 1.0F;
  kinds[5].seed = 3;
  kinds[5].logprobs = 3;
  return kinds;
}

struct told {
  std::vector<token_id> tokens;
  std::vector<std::pair<token_id, float>> logprobs;
  friend bool operator==(const told&, const told&) = default;
};

std::vector<told> serve(executor& device, std::int32_t vocab_size) {
  executor_driver driver(device);
  std::vector<test::chunk> all;
  for (const sampling_params& kind : kinds_of_requests(vocab_size)) {
    const std::size_t sequence = driver.add({6, 7, 8, 9, static_cast<token_id>(10 + all.size())}, kind);
    all.push_back({sequence, 5});
  }
  driver.step(all);
  for (test::chunk& each : all) each.rows = 1;
  for (int i = 0; i < 12; ++i) driver.step(all);
  std::vector<told> out;
  for (const test::chunk& each : all) {
    told& one = out.emplace_back();
    one.tokens = driver.output(each.sequence);
    for (const token_logprobs& logprobs : driver[each.sequence].logprobs) {
      one.logprobs.emplace_back(logprobs.token, logprobs.logprob);
      one.logprobs.insert(one.logprobs.end(), logprobs.top.begin(), logprobs.top.end());
    }
  }
  return out;
}

// A fault of the step that was asked for last is thrown by whoever asks next.
TEST_F(runner_processes, are_asked_for_a_step_before_the_tokens_of_the_one_before_are_collected) {
  const auto device = local();
  const auto waiting = test::decode(*device, test::params_of_each_kind(), 10, false);
  const auto process = runner_process::start(program("overlaps"), file.descriptors());
  ASSERT_TRUE(process.has_value()) << process.error().message;
  const auto there = open(*process);
  EXPECT_TRUE(there->overlaps());
  EXPECT_EQ(test::decode(*there, test::params_of_each_kind(), 10, true), waiting);
  EXPECT_EQ(test::decode(*there, test::params_of_each_kind(), 10, false), waiting);
  EXPECT_FALSE(open(start())->overlaps());
  test::decoding all({test::greedy()});
  device_batch batch = all.next(false);
  batch.tokens[0] = test::throws;
  there->forward(batch);
  EXPECT_THROW(static_cast<void>(there->begin_sample(batch, nullptr)), std::runtime_error);
}

TEST_F(runner_processes, are_waited_for_where_their_device_goes_on_by_itself) {
  const auto process = runner_process::start(program("defers"), file.descriptors());
  ASSERT_TRUE(process.has_value()) << process.error().message;
  const auto there = open(*process);
  test::decoding all({test::greedy()});
  device_batch batch = all.next(false);
  there->forward(batch);
  there->synchronize();
  batch.tokens[0] = test::throws;
  there->forward(batch);
  EXPECT_THROW(there->synchronize(), std::runtime_error);
}

TEST_F(runner_processes, give_the_bits_that_this_process_gives) {
  const auto here = local();
  const auto there = open(start());
  EXPECT_EQ(there->kernel_path(), here->kernel_path());
  EXPECT_EQ(there->layout().num_blocks, here->layout().num_blocks);
  EXPECT_EQ(there->layout().dtype, here->layout().dtype);
  const std::int32_t vocab_size = file.model->config.vocab_size;
  EXPECT_EQ(serve(*there, vocab_size), serve(*here, vocab_size));
}

TEST_F(runner_processes, know_the_plans_that_are_chosen_here_and_warm_samplers_up) {
  const auto there = open(start());
  ASSERT_NE(there->plans(), nullptr);
  EXPECT_FALSE(there->plans()->shape().empty());
  const std::int32_t vocab_size = file.model->config.vocab_size;
  const std::vector<told> before = serve(*there, vocab_size);
  there->plans()->use(64, {1});
  EXPECT_EQ(serve(*there, vocab_size), before);
  warm_up_sampler(*there, 4, 64);
}

TEST_F(runner_processes, run_several_executors_each_with_its_own_memory) {
  const auto process = start();
  const auto first = open(process);
  const auto second = open(process);
  const std::int32_t vocab_size = file.model->config.vocab_size;
  executor_driver one(*first);
  executor_driver two(*second);
  const std::size_t a = one.add({6, 7, 8}, test::greedy());
  const std::size_t b = two.add({9, 9, 9}, test::greedy());
  one.generate(a, 1);
  two.generate(b, 1);
  for (int i = 0; i < 5; ++i) {
    one.step({{a, 1}});
    two.step({{b, 1}});
  }
  const auto here = local();
  executor_driver oracle(*here);
  const std::size_t c = oracle.add({6, 7, 8}, test::greedy());
  oracle.generate(c, 6);
  EXPECT_EQ(one.output(a), oracle.output(c));
  EXPECT_EQ(serve(*first, vocab_size), serve(*second, vocab_size));
}

TEST_F(runner_processes, tell_what_was_thrown_and_go_on) {
  const auto there = open(start());
  try {
    run(*there, test::throws);
    FAIL() << "nothing was thrown";
  } catch (const device_lost&) {
    FAIL() << "the process is not lost";
  } catch (const std::runtime_error& fault) {
    EXPECT_STREQ(fault.what(), "a step that throws");
  }
  run(*there, 9);
}

TEST_F(runner_processes, tell_that_their_device_had_no_memory_and_go_on) {
  const auto there = open(start());
  try {
    run(*there, test::lacks);
    FAIL() << "nothing was thrown";
  } catch (const out_of_device_memory& fault) {
    EXPECT_STREQ(fault.what(), "a step that there is no memory for");
  }
  run(*there, 9);
  executor_driver driver(*there);
  const std::size_t prompt = driver.add({test::lacks, 9, 10, 11}, test::greedy());
  there->forward(driver.build({{prompt, 2}}));
  EXPECT_THROW(there->synchronize(), out_of_device_memory);
  run(*there, 9);
}

TEST_F(runner_processes, that_are_killed_by_a_step_are_lost_and_the_next_one_gives_the_same_tokens) {
  const std::int32_t vocab_size = file.model->config.vocab_size;
  auto there = open(start());
  const std::vector<told> before = serve(*there, vocab_size);
  try {
    run(*there, test::kills);
    FAIL() << "nothing was thrown";
  } catch (const device_lost& lost) {
    EXPECT_NE(std::string(lost.what()).find("signal 9"), std::string::npos) << lost.what();
  }
  EXPECT_THROW(run(*there, 9), device_lost);
  there = open(start());
  EXPECT_EQ(serve(*there, vocab_size), before);
}

// A step that ends its process makes its requests suspects; whoever sends a signal from outside must not.
TEST_F(runner_processes, know_their_own_crashes_from_signals_that_others_send) {
  for (const token_id crash : {test::raises, test::faults, test::aborts}) {
    const auto process = start();
    const auto device = open(process);
    EXPECT_THROW(run(*device, crash), device_lost) << crash;
    EXPECT_FALSE(process->handle()->was_killed_by_others()) << crash;
  }
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGUSR1, SIGKILL}) {
    const auto process = start();
    const auto device = open(process);
    ::kill(process->handle()->id(), signal);
    while (!process->handle()->has_ended()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_THROW(run(*device, 9), device_lost) << signal;
    EXPECT_TRUE(process->handle()->was_killed_by_others()) << signal;
    const std::string name = "signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
    const bool raises_crashes = is_crash_signal(signal);
    EXPECT_EQ(process->handle()->how_it_ended(), name + (raises_crashes ? ", sent by another process" : ""));
  }
}

// However soon: its program may not have begun.
TEST_F(runner_processes, know_a_signal_that_is_sent_at_their_birth) {
  for (int i = 0; i < 20; ++i) {
    for (const int signal : {SIGSEGV, SIGABRT, SIGBUS}) {
      const auto process = start();
      ::kill(process->handle()->id(), signal);
      while (!process->handle()->has_ended()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      EXPECT_TRUE(process->handle()->was_killed_by_others()) << process->handle()->how_it_ended();
    }
  }
}

TEST_F(runner_processes, end_with_a_device_that_is_lost) {
  const auto there = open(start());
  try {
    run(*there, test::loses);
    FAIL() << "nothing was thrown";
  } catch (const device_lost& lost) {
    EXPECT_NE(std::string(lost.what()).find("70"), std::string::npos) << lost.what();
  }
  run(*open(start()), 9);
}

TEST_F(runner_processes, open_the_cuda_device_that_they_are_asked_for) {
  executor_setup wanted = setup();
  wanted.packed_weights = 0;  // there are none: the file once more
  wanted.cuda = cuda_choice{.device_id = 3,
                            .memory_utilization = 0.5,
                            .graphs = true,
                            .weights = weight_form::in_file,
                            .batch_invariant = true,
                            .graph_rows = {1, 8}};
  const auto process = start();
  const auto opened = process->open(wanted);
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  EXPECT_EQ((*opened)->kernel_path(), "cuda 3 0.500000 quantised invariant 1 8");
  const auto figures = (*opened)->figures();
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->bus_id, "cuda 3 0.500000 quantised invariant 1 8");
  EXPECT_EQ(figures->memory_total, 1ULL << 40U);
  EXPECT_EQ(figures->memory_free, 3U);
  EXPECT_EQ(figures->graphs, 7);
  EXPECT_EQ(figures->eager_steps, 11U);
  EXPECT_EQ(figures->eager_decodes, 1ULL << 33U);
  const std::string choices((*opened)->choices());
  EXPECT_EQ(choices, std::string("its\0own", 7));
  (*opened)->use_choices(choices + choices);
  EXPECT_EQ((*opened)->choices(), choices + choices);
  ASSERT_TRUE((*opened)->take_kv_cache({.num_blocks = 5}));
  EXPECT_EQ((*opened)->layout().num_blocks, 5);
  const auto on_the_cpu = open(start());
  EXPECT_NE(on_the_cpu->kernel_path().substr(0, 4), "cuda");
  EXPECT_FALSE(on_the_cpu->figures());
  EXPECT_TRUE(on_the_cpu->choices().empty());
}

// The state of a process, of proc(5): "T" where it is stopped.
std::string state_of(pid_t id) {
  std::ifstream status("/proc/" + std::to_string(id) + "/stat");
  std::string line;
  std::getline(status, line);
  const std::size_t name_end = line.rfind(") ");
  return name_end == std::string::npos ? "" : line.substr(name_end + 2, 1);
}

TEST_F(runner_processes, that_hang_can_be_killed) {
  const auto process = start();
  const auto there = open(process);
  std::thread rescue([&process] {
    while (state_of(process->handle()->id()) != "T")
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    process->kill();
  });
  EXPECT_THROW(run(*there, test::hangs), device_lost);
  rescue.join();
}

// Nobody would know any more which call an answer is to.
TEST_F(runner_processes, are_lost_where_an_answer_cannot_be_waited_for) {
  const auto process = start();
  const auto there = open(process);
  ::kill(process->handle()->id(), SIGSTOP);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit fewer_than_it_watches{1, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &fewer_than_it_watches), 0);
  EXPECT_THROW(run(*there, 9), device_lost);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(process->handle()->has_ended());
}

TEST_F(runner_processes, tell_the_fault_of_a_step_to_its_executor_alone) {
  const auto process = start();
  const auto target = open(process);
  const auto draft = open(process);
  executor_driver driver(*draft);
  const std::size_t prompt = driver.add({test::throws, 9, 10, 11}, test::greedy());
  draft->forward(driver.build({{prompt, 2}}));  // a part of it: nothing is sampled, nobody waits
  run(*target, 9);
  try {
    draft->synchronize();
    FAIL() << "nothing was thrown";
  } catch (const device_lost&) {
    FAIL() << "the process is not lost";
  } catch (const std::runtime_error& fault) {
    EXPECT_STREQ(fault.what(), "a step that throws");
  }
  draft->synchronize();
  run(*draft, 9);
  run(*target, 9);
}

TEST_F(runner_processes, give_the_memory_of_an_executor_back_that_is_gone) {
  const auto process = start();
  const auto target = open(process);
  const auto mebibytes = [&process] {
    std::ifstream sizes("/proc/" + std::to_string(process->handle()->id()) + "/statm");
    std::int64_t pages = 0;
    sizes >> pages;
    return pages * ::sysconf(_SC_PAGESIZE) >> 20;
  };
  executor_setup large = setup();
  large.options.limits.kv_cache_bytes = std::size_t{256} << 20U;
  const auto open_another = [&] { return started(std::move(*process->open(large))); };
  open_another();
  run(*target, 9);  // when that is answered the other is gone
  const std::int64_t before = mebibytes();
  for (int i = 0; i < 4; ++i) {
    const auto another = open_another();
    run(*another, 9);
  }
  run(*target, 9);
  EXPECT_LT(mebibytes(), before + 512);
}

TEST_F(runner_processes, leave_nothing_behind) {
  const auto open_descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  run(*open(start()), 9);
  const auto before = open_descriptors();
  for (int i = 0; i < 3; ++i) {
    const auto process = start();
    const auto there = open(process);
    run(*there, 9);
    if (i != 1) continue;
    EXPECT_THROW(run(*there, test::kills), device_lost);
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST_F(runner_processes, say_why_they_cannot_begin) {
  EXPECT_EQ(runner_process::start({"/nowhere/troupe", {"troupe"}}, file.descriptors()).error().code,
            error_code::unavailable);
  const auto refused = (*runner_process::start(program("none"), file.descriptors()))->open(setup());
  EXPECT_EQ(refused.error().code, error_code::resource_exhausted);
  EXPECT_EQ(refused.error().message, "no executor today");
  EXPECT_EQ(refused.error().param, "threads");
  // Ends at once, since it is no runner process.
  const auto other = (*runner_process::start({"/bin/true", {"true"}}, file.descriptors()))->open(setup());
  EXPECT_EQ(other.error().code, error_code::unavailable);
  executor_setup without_model = setup();
  without_model.model_file = 7;
  EXPECT_EQ(start()->open(without_model).error().code, error_code::invalid_argument);
}

// The runner process of a service that is killed.
TEST_F(runner_processes, end_with_the_process_that_started_them) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const auto service = child_process::start(program("service"), {{ends[1]}});
  ASSERT_TRUE(service.has_value());
  ::close(ends[1]);
  pid_t runner = 0;
  ASSERT_EQ(::read(ends[0], &runner, sizeof runner), static_cast<ssize_t>(sizeof runner));
  ASSERT_GT(runner, 0);
  (*service)->handle()->kill();
  EXPECT_EQ((*service)->how_it_ended(), "signal 9 (Killed)");
  const auto is_gone = [runner] {
    const std::string state = state_of(runner);
    return state.empty() || state == "Z";
  };
  for (int i = 0; i < 1000 && !is_gone(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(is_gone());
  ::close(ends[0]);
}

}  // namespace
}  // namespace troupe
