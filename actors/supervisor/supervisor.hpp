// Starts the company, warms it up, watches every actor, starts again what ends, drains it. Who is started
// again with whom, and when that is given up, says one tree (supervision_of).
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/company_board.hpp"
#include "actors/company_directory.hpp"
#include "actors/grammars/grammar_options.hpp"
#include "actors/interfaces.hpp"
#include "actors/messaging/outbox.hpp"
#include "actors/net/last_words.hpp"
#include "actors/net/sockets/memory_tidier.hpp"
#include "actors/runner/model_runner.hpp"
#include "actors/start/engine_steps.hpp"
#include "actors/tokenizer/tokenizer.hpp"
#include "runtime/drafting/drafter.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/executor/warm_up/warm_up_course.hpp"
#include "runtime/grammar/lazy_token_trie.hpp"
#include "runtime/supervision/opening_watch.hpp"
#include "runtime/supervision/restart_backoff.hpp"
#include "runtime/supervision/supervision_tree.hpp"

namespace troupe {

struct supervisor_parts {
  runner_device device;  // of the next runner, where it is open: the first one, or left by the one before
  device_opener
      open_device;  // of the next ones; unset: there is none, and the end of the runner is that of all
  device_opener open_last_resort;         // in place of that where it does not help any more; unset: nothing
  std::optional<device_process> process;  // of the device; nothing: this one
  scheduler_limits limits;                // num_blocks and block_size are the device's
  tokenizer_ptr vocabulary;
  std::shared_ptr<metrics::engine_metrics> metrics;
  tokenizer_parts tokenizer;  // of each; these two, and what the device's memory bounds, are added
  std::int32_t tokenizer_workers = 2;
  grammar_options grammars;
  std::optional<drafter_options> drafts;  // unset: nobody guesses
  // The runner, the tokenizers of long texts and the compilers of grammars get threads of their own; false:
  // everybody runs where the system says.
  bool detach = true;
  // Whether the system would start one more of them; unset: nobody asks.
  std::function<result<void>()> has_thread;
  restart_pauses pauses;  // of the runner
  std::shared_ptr<company_board> board;
  std::shared_ptr<company_directory> directory;
  engine_steps steps;
  warm_up_mode warm_up = warm_up_mode::lazy;
  std::function<steady_time()> device_clock = std::chrono::steady_clock::now;  // of what its steps take
  // Of whoever looks at the board, which may be another one than actors have.
  std::function<steady_time()> board_clock = std::chrono::steady_clock::now;
};

// The company's roles in the order in which they start. A scheduler that ends takes the request table along,
// and with it everybody who keeps something for its requests.
supervised supervision_of(std::int32_t tokenizers, bool has_drafter);

class supervisor_state {
 public:
  static inline const char* name = "supervisor";
  explicit supervisor_state(supervisor_actor::base* self) : self_(self), out_(self) {}

  void prepare(supervisor_parts parts);
  company_roster_ptr start();
  company_roster_ptr add_gateway(const msg::add_gateway& named, const gateway_actor& gateway,
                                 const gateway_starter& start);
  caf::result<msg::company_drained> drain(std::chrono::nanoseconds grace);
  void report(company_call& call) const;
  void reload(const company_limits_ptr& limits, reload_call& call);
  void end_grace();
  void abort_all();
  void abandon_connections();
  void continue_warm_up() { go_on_warming_up(); }
  void look_after_device();
  void start_next_runner();
  // Of all; the next time is soon.
  void take_stock();
  void send_again();
  // What the scheduler sends is this one request, for what would be told again now too.
  void make_up_for(const caf::strong_actor_ptr&, msg::message_number, std::uint64_t) { send_again(); }

 private:
  // Of the runner that is there or is on its way: what has become of its device, so that it is ended once.
  struct device_state {
    std::optional<opening_watch> opening = {};  // nothing: it is open, or nobody opens it
    std::int32_t opening_process = 0;           // that it watches
    std::optional<std::string> late = {};       // what was told when it got on no more, until it does
    std::optional<steady_time> killed_at = {};  // since it hung
    bool is_mourned = false;                    // its runner is told that the process has ended
  };
  // The last step that was sent to the runner, and when it was seen first.
  struct seen_step {
    std::uint64_t step = 0;
    steady_time since{};
  };
  // Of the device: for what kind of step.
  enum class shortage { none, of_requests, of_warm_up };
  // How the last runner has come to its end.
  struct end_of_runner {
    bool was_warming_up = false;
    bool was_killed = false;                  // from outside
    bool was_drafting = false;                // by the draft model's own step
    shortage lacked_memory = shortage::none;  // else its device is the next one's
    bool is_excused = false;                  // counts for no intensity
    std::int32_t rows = 0;                    // of the step that has ended it, if one has
  };
  enum class drain_phase { none, doors, tokenizers, gateways, done };
  struct drain_state {
    drain_phase phase = drain_phase::none;
    // What is kept of the grace for the last bytes to reach the clients, and for the end of the process.
    std::chrono::nanoseconds flush_time = net::most_kept_for_last_words;
    bool is_grace_over = false;               // as somebody has said who does not want to wait
    bool is_aborting = false;                 // what is open is to end
    std::set<caf::actor_id> unanswered = {};  // who is asked to drain, and has neither answered nor ended
    drain_outcome outcome = drain_outcome::complete;
    std::uint64_t aborted = 0;  // by tokenizers that have answered
    std::vector<caf::typed_response_promise<msg::company_drained>> promises = {};  // who waits for the end

    bool has_begun() const { return phase != drain_phase::none; }
    bool is_under_way() const { return has_begun() && phase != drain_phase::done; }
  };
  // supervisor_roles.cpp: how a role is filled and vacated.
  struct role {
    std::string kind;              // by which the metrics know its actor
    std::function<void()> start;   // fills it in the roster, now or when it is ready
    std::function<void()> vacate;  // nobody fills it
    bool holds_requests = true;    // which end with it
  };
  template <class Handle>
  void add_role(const std::string& name, const char* kind, Handle& place, std::function<Handle()> spawn);
  void add_roles();
  // Where it is to have one. Where the system starts no more of them others wait for it now and then.
  bool has_own_thread_for(const char* kind) const;
  tokenizer_actor spawn_tokenizer(bool long_texts);
  grammar_compiler_actor spawn_compiler(const grammar::grammar_limits& limits);

  // supervisor_device.cpp
  void add_model_runner();
  void vacate_model_runner();
  // There is no thread for one: it is tried again until there is, since ending the service would not help.
  void put_off_model_runner(const error& why);
  void open_device(const model_runner_actor& runner);
  void on_device_opened(const model_runner_actor& runner, const msg::device_opened& opened);
  void note_device(const msg::device_opened& opened);
  // Why the device is to be killed, where it is.
  std::optional<std::string> fault_of_device(steady_time now);
  std::optional<std::string> watch_opening(steady_time now);
  void note_process_that_opens(steady_time now);
  void end_hung_device(steady_time now);
  // The scheduler alone knows whether a step is to blame, which is excused.
  void on_runner_down(const caf::error& reason);
  // Whoever directs the draft model that has ended its runner: too often, and there are no drafts any more.
  void restart_drafter();
  void ask_for_blame();
  // What the scheduler has said of the runner's end, or nobody can say any more.
  void replace_runner(msg::runner_missed missed);
  void pause_before_runner(std::chrono::nanoseconds pause);
  // It has gone with its runner. False: there is no other one.
  bool lose_device();
  // Whether there is another device than the one that does not come back: the last resort, once.
  bool turn_to_last_resort();
  // Of a KV cache with another number of blocks.
  void replace_kv_cache(std::int32_t num_blocks);
  void give_back_memory();

  // supervisor_shortage.cpp
  bool is_process_gone() const;  // the device's, where it has one
  static shortage shortage_of(const caf::error& reason);
  // Whether the next runner can have the device of the one that has ended.
  bool has_left_device(const msg::runner_missed& missed) const;
  void pass_device_on();
  std::int32_t least_blocks() const;  // that hold the longest context
  // How many blocks the KV cache has when it has given some of its memory; nothing where it gives no more.
  std::optional<std::int32_t> smaller_cache() const;
  void note_blocks_of_device(std::int32_t num_blocks);

  // supervisor.cpp
  // Hears of this actor's end, and ends it with the supervisor. Not a link: it would go both ways, and a
  // killed member would take the supervisor along before it could report.
  template <class Handle>
  void watch(const Handle& actor, const std::string& role) {
    self_->monitor(actor);
    watched_->insert(actor.address());
    members_[actor.address()] = role;
  }
  // Tells everybody who fills which role now; those who keep what others ask for first.
  void introduce();
  std::vector<gateway_actor> gateways() const;
  void on_down(const caf::actor_addr& source, const caf::error& reason);
  // Who has not answered for too long.
  std::optional<std::string> silent_member() const;
  void restart(const std::string& role, bool is_excused);
  void stop(const std::string& role);
  // Starts whoever is to be started, once everybody who was stopped has ended.
  void start_stopped();
  void fail(const std::string& role, const std::string& why = "has ended");

  // supervisor_warm_up.cpp
  void start_warm_up();
  // Before readiness item after item; then one whenever nothing has run for a while, until all are done.
  void go_on_warming_up();
  void leave_out(const warm_up_item& item);
  void leave_out_what_kills();
  void warm_up_when_idle();
  void note_last_step();
  // Whether nothing has run for as long as a lazy warm-up waits.
  bool has_been_quiet() const;
  // Whether the next item tells a cost that drafts wait for: as soon as nothing runs, since such steps are
  // the smallest.
  bool measures_costs_next() const;
  // Whether what drafts cost is the next item, although requests run: nothing has been for a while.
  bool wants_costs_now();
  void warm_up_item_now();
  void on_warmed_up(const warm_up_item& item, const msg::warmed_up& done);
  void announce_sampler() const;
  // Once: where the warm-up has left out what drafts wait for.
  void warn_of_unknown_costs();
  void tell_step_cost(const scheduler_actor& scheduler, const timed_step& step,
                      std::chrono::nanoseconds took);

  // supervisor_reload.cpp
  // Whoever is told has these limits for all that it hears after this.
  template <class Handle>
  void tell_limits(const Handle& actor) {
    if (actor && limits_) out_.send(actor, msg::reload{}, limits_);
  }

  // supervisor_describe.cpp
  net::tree_report report_of(const supervision_tree::outline& part) const;
  net::actor_report report_of(const std::string& role) const;

  // supervisor_drain.cpp
  void close_doors();
  void drain_tokenizers();
  void drain_gateways();
  // One of those asked has answered, or will never.
  void has_drained(caf::actor_id id);
  void lost_in_drain();
  void end_drain();
  template <class Request, class Handle>
  void ask_to(const Handle& actor);

  supervisor_actor::base* self_;
  outbox<supervisor_actor::base> out_;
  supervisor_parts parts_;
  scheduler_limits limits_at_start_;
  company_limits_ptr limits_;  // the last new ones; null: those of the start
  kv_layout layout_;
  std::shared_ptr<grammar::lazy_token_trie> vocabulary_;
  supervision_tree tree_{supervised{}};
  std::map<std::string, role> roles_;
  std::map<caf::actor_addr, std::string> members_;  // who fills a role, or did when it was heard of last
  std::shared_ptr<std::set<caf::actor_addr>> watched_ = std::make_shared<std::set<caf::actor_addr>>();
  std::set<caf::actor_addr> stopping_;             // asked to end, and not gone yet
  std::set<std::string> to_start_;                 // roles that wait for that
  std::set<std::string> left_out_;                 // roles that nobody fills until others start anew
  std::map<std::string, std::uint64_t> restarts_;  // of roles
  std::map<timed_step, std::chrono::nanoseconds> step_costs_;  // for whoever is started anew
  device_state device_;
  int failed_openings_ = 0;  // of a device, in a row
  int hung_openings_ = 0;    // likewise, that had to be killed
  bool is_on_last_resort_ = false;
  std::int32_t blocks_of_device_ = 0;        // of a KV cache that has all the device can give
  std::optional<std::int32_t> most_blocks_;  // where the warm-up has needed some of that
  company_roster roster_;
  company_roster_ptr introduced_;  // the roster as everybody knows it

  warm_up_course course_;
  executor_limits step_limits_;          // of the device's steps
  std::optional<steady_time> asked_at_;  // everybody, whether they answer
  std::optional<net::memory_tidier> memory_;
  std::optional<std::string> silent_;           // who does not, when it was looked for last
  std::shared_ptr<runner_device> left_behind_;  // by the runner, where it ends for want of memory
  end_of_runner runner_end_;                    // the last
  int kills_ = 0;                               // of runners, from outside, in a row
  restart_backoff backoff_;                     // where no step is to blame for it
  bool is_pausing_ = false;                     // before there is another runner
  bool awaits_blame_ = false;                   // the scheduler is asked whether a step ended the runner
  bool is_warming_up_ = false;                  // an item is with the runner
  bool awaits_idle_ = false;                    // the scheduler is asked whether anything runs
  std::optional<seen_step> last_step_;
  std::optional<steady_time> last_chance_;  // when nothing ran, or an item was run, for the last time
  bool is_tuning_told_ = false;             // in the log
  bool is_sampler_told_ = false;
  bool are_costs_told_ = false;
  bool has_begun_ = false;  // the warm-up
  bool ready_ = false;
  bool failed_ = false;
  drain_state drain_;
};

supervisor_actor::behavior_type supervisor_behavior(supervisor_actor::stateful_pointer<supervisor_state> self,
                                                    supervisor_parts parts);

}  // namespace troupe
