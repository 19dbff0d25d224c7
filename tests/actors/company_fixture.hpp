// A company on the test's own thread: CAF's test coordinator, the null executor and a vocabulary of bytes.
// Nothing happens until a test asks for it, one message at a time where it likes.
#pragma once
#include <gtest/gtest.h>

#include <caf/scheduler/test_coordinator.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/clients/actor_port.hpp"
#include "actors/interfaces.hpp"
#include "actors/supervisor/supervisor.hpp"
#include "runtime/executor/null_executor.hpp"

namespace troupe::test {

// One token per byte; 256 ends the generation.
tokenizer_ptr byte_vocabulary();
inline constexpr token_id end_token = 256;

// What one client saw.
struct client {
  request_id id = 0;
  std::string text;
  std::string warning;
  std::vector<token_id> tokens;
  std::size_t prompt_tokens = 0;  // as the first event tells them
  std::vector<finished> ends;
  std::size_t events_after_end = 0;
};

struct company_setup {
  std::int32_t num_blocks = 64;
  std::int32_t block_size = 4;
  std::int32_t max_num_seqs = 8;
  std::int32_t max_num_batched_tokens = 32;
  std::int32_t max_model_len = 128;
  std::size_t max_num_queued_requests = 64;
  std::int32_t max_steps_in_flight = 2;
  bool enable_prefix_caching = true;
  std::int32_t tokenizer_workers = 2;
  std::chrono::nanoseconds request_timeout{0};
  bool allow_auto_truncate = false;
  std::chrono::nanoseconds step_deadline = std::chrono::seconds(60);
  grammar::grammar_limits grammars = {};
  bucket_plan buckets = {};
  bool pad_to_buckets = false;
  warm_up_mode warm_up = warm_up_mode::lazy;
  // The token for a row; the default spells the alphabet by position.
  token_script script = [](const sample_row& row) { return 'a' + row.position % 26; };
  // Instead of the script: the letter after the row's own token, so that a token fed wrongly shows.
  bool follows_input = false;
  // The device goes on by itself: its tokens are there after so many looks.
  std::optional<int> overlaps = {};
  // Hears of steps of such a device: asked for, collected.
  std::function<void(std::uint64_t)> on_forward = [](std::uint64_t) {};
  std::function<void(std::uint64_t)> on_collect = [](std::uint64_t) {};
  // Throws to make a step fail. Called before each step's forward().
  std::function<void(const device_batch&)> before_step = [](const device_batch&) {};
  // The last word on what the company is made of, its device included.
  std::function<void(supervisor_parts&)> adjust = [](supervisor_parts&) {};
};

class stage {
 public:
  explicit stage(company_setup setup = {});
  ~stage();

  // Sends a request; what comes back gathers in the client, also after the stage is gone.
  std::shared_ptr<client> ask(const std::string& text, sampling_params sampling);
  std::shared_ptr<client> ask(const std::string& text, std::int32_t max_tokens);
  // The same for several answers to one prompt, by index.
  std::vector<std::shared_ptr<client>> ask_choices(const std::string& text, sampling_params sampling,
                                                   std::int32_t n);
  void abort(const client& who);

  // Handles messages until none is left.
  void run();
  // Handles at most `count` messages; how many there were.
  std::size_t run(std::size_t count);
  // Handles one message of the actor that `drawn` falls to among those that have one; false where none has.
  // `except` does not run.
  bool run_any(std::uint64_t drawn, const caf::abstract_actor* except = nullptr);
  // Handles one message of this actor; false where it has none.
  template <class Handle>
  bool run_only(const Handle& actor) {
    const auto* only = caf::actor_cast<caf::abstract_actor*>(actor);
    return run_one_of([only](const caf::abstract_actor* each) { return each == only; }, 0);
  }
  void advance(std::chrono::nanoseconds time);
  // The sum of the samples in /metrics that have these labels; -1 where there are none.
  double metric(const std::string& name, const std::map<std::string, std::string>& labels = {});
  // How many of these messages the actor has handled.
  double messages_of(const std::string& actor, const std::string& message) {
    const double count =
        metric("troupe_actor_message_seconds_count", {{"actor", actor}, {"message", message}});
    EXPECT_GE(count, 0) << "no " << actor << " takes a " << message;
    return count;
  }
  template <class Handle>
  void kill(const Handle& actor) {
    caf::anon_send_exit(actor, caf::exit_reason::kill);
  }

  // The message that this actor would handle next is never handled. False where none waits, or it is its own
  // timer or an answer.
  template <class Handle>
  bool lose_message(const Handle& actor) {
    return lose_message_of(caf::actor_cast<caf::abstract_actor*>(actor));
  }
  // The same, where that is an answer.
  template <class Handle>
  bool lose_answer(const Handle& actor) {
    return lose_message_of(caf::actor_cast<caf::abstract_actor*>(actor), true);
  }
  // Until whoever has missed a message knows.
  void take_stock();
  // The one or the other, and what comes of it. Whether a message was lost.
  template <class Handle>
  bool lose_message_or_kill(const Handle& actor, bool is_lost) {
    const bool lost = is_lost && lose_message(actor);
    if (!is_lost) kill(actor);
    run();
    if (is_lost) take_stock();
    return lost;
  }

  template <class Answer, class Handle, class Message>
  std::optional<Answer> query(const Handle& actor, Message message) {
    caf::scoped_actor self{system_};
    auto response = self->request(actor, caf::infinite, std::move(message));
    run();
    std::optional<Answer> answer;
    response.receive([&](const Answer& given) { answer = given; }, [](const caf::error&) {});
    return answer;
  }

  // Every table empty, every block free, no actor too many but for so many of the test's own. Handles what is
  // left first.
  void expect_idle(std::size_t own_actors = 0);
  // That it is ready and live, answers, and is idle after that. `settling`: what has to pass before.
  void expect_served(std::chrono::nanoseconds settling = {});
  // Where a runner has ended again and again.
  static constexpr std::chrono::seconds runner_settles{10};

  actor_port& port() { return *port_; }
  const port_parts& ports() const { return ports_; }  // of gateways that a test adds
  // What an actor holds, between two messages.
  template <class State, class Handle>
  const State& state_of(const Handle& actor) const {
    auto* held = caf::actor_cast<caf::abstract_actor*>(actor);
    return dynamic_cast<caf::stateful_actor<State, typename Handle::base>&>(*held).state;
  }
  // Whether somebody fills this role, has begun and not ended.
  template <class Handle>
  static bool lives(const Handle& actor) {
    if (!actor) return false;
    const auto* held = caf::actor_cast<caf::abstract_actor*>(actor);
    return held->getf(caf::abstract_actor::is_initialized_flag) &&
           !held->getf(caf::abstract_actor::is_terminated_flag);
  }

  company_board& board() { return *board_; }
  steady_time now() { return coordinator_.clock().now(); }
  net::engine_status status();
  const supervisor_actor& supervisor() const { return supervisor_; }
  const company_roster& roster() const { return *directory_->current(); }
  caf::actor_system& system() { return system_; }

 private:
  bool run_one_of(const std::function<bool(const caf::abstract_actor*)>& chosen_from, std::uint64_t drawn);
  static bool lose_message_of(caf::abstract_actor* actor, bool is_answer = false);

  struct testing_config : caf::actor_system_config {
    testing_config() { configure(*this, "testing", 1); }
  };
  testing_config config_;
  caf::actor_system system_;
  caf::scheduler::test_coordinator& coordinator_;
  std::shared_ptr<company_board> board_;
  supervisor_actor supervisor_;
  std::size_t actors_at_start_ = 0;
  std::shared_ptr<company_directory> directory_ = std::make_shared<company_directory>();
  port_parts ports_;
  std::unique_ptr<actor_port> port_;
};

// Greedy with a length.
sampling_params greedy(std::int32_t max_tokens);

// Somebody guesses, beside what the setup adjusts already.
void add_drafts(company_setup& setup);

// That each token is the letter behind the one before, as the default script has it and follows_input.
void expect_alphabet(const client& who);

}  // namespace troupe::test
