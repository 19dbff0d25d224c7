// Starts the company in order, warms it up, watches every actor, drains it.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/company_board.hpp"
#include "actors/interfaces.hpp"
#include "actors/tokenizer.hpp"
#include "runtime/drafting/drafter.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/executor/pad_batch.hpp"
#include "runtime/executor/tuning_file.hpp"
#include "runtime/executor/warm_up_course.hpp"
#include "runtime/grammar/grammar_cache.hpp"

namespace troupe {

class draft_model;

struct supervisor_parts {
  std::shared_ptr<executor> device;
  scheduler_limits limits;    // num_blocks and block_size are the device's
  tokenizer_parts tokenizer;  // without its scheduler
  std::int32_t tokenizer_workers = 2;
  grammar::grammar_limits grammars;  // of one grammar
  grammar::grammar_cache_limits grammar_cache;
  bool grammar_jump_forward = false;
  std::size_t grammar_threads = 1;        // that fill masks
  std::optional<drafter_options> drafts;  // unset: nobody guesses
  std::shared_ptr<draft_model> draft;     // who guesses by the method draft_model
  // The runner, the tokenizers of long texts and the compilers of grammars get threads of their own; false:
  // everybody runs where the system says.
  bool detach = true;
  std::shared_ptr<company_board> board;
  bucket_plan buckets;
  bool pad_to_buckets = false;
  padded_limits padded;  // the largest step of the device, where that is more than the scheduler plans
  std::optional<warm_up_mode> warm_up;  // unset: full where the device runs fixed shapes, else lazy
  bool tune = false;                    // the warm-up chooses the device's plans, and keeps them here:
  std::filesystem::path tuning_file;
  tuning_key tuned_for;
};

class supervisor_state {
 public:
  static inline const char* name = "supervisor";
  explicit supervisor_state(supervisor_actor::base* self) : self_(self) {}

  void prepare(supervisor_parts parts);
  company_roster_ptr start();
  void add_gateway(const gateway_actor& gateway, std::string role);
  caf::result<msg::company_drained> drain(std::chrono::nanoseconds grace);
  void abort_all();
  void abandon_connections();
  void continue_warm_up() { go_on_warming_up(); }

 private:
  struct member {
    caf::actor_addr address;
    std::string role;  // its name in the log
  };

  // Hears of this actor's end, and ends it with the supervisor.
  template <class Handle>
  void watch(const Handle& actor, std::string role);
  model_runner_actor spawn_model_runner();
  void start_structured_output();
  void start_drafter();
  grammar_compilers spawn_compilers();
  tokenizer_actor spawn_tokenizer(const tokenizer_parts& parts, bool long_texts);
  void start_warm_up(const kv_layout& layout, bool fixed_shapes);
  // Before readiness item after item; then one whenever nothing runs, until all are done.
  void go_on_warming_up();
  void warm_up_when_idle();
  void warm_up_item_now();
  void on_warmed_up(const warm_up_item& item, const msg::warmed_up& done);
  void log_sampler(const warm_up_item& item, bool is_over) const;
  void on_down(const caf::actor_addr& source, const caf::error& reason);
  void fail(const std::string& role, const std::string& reason);
  void drain_tokenizers();
  void drain_gateways();
  // One of those asked has answered, or will never.
  void one_drained();
  template <class Handle>
  void ask_to_drain(const Handle& actor);

  supervisor_actor::base* self_;
  supervisor_parts parts_;
  std::shared_ptr<company_roster> roster_;
  std::vector<member> members_;
  std::vector<gateway_actor> gateways_;
  warm_up_course course_;
  kv_layout layout_;
  executor_limits step_limits_;  // of the device's steps
  bool ready_ = false;
  bool failed_ = false;
  enum class drain_phase { none, tokenizers, gateways, done } draining_ = drain_phase::none;
  // What a drain keeps of its grace for the last bytes to reach the clients.
  std::chrono::nanoseconds flush_time_ = std::chrono::seconds(1);
  std::size_t undrained_ = 0;  // answers to drain that are still to come
  bool cut_off_ = false;       // something was ended before it had finished
  std::vector<caf::typed_response_promise<msg::company_drained>> drains_;
};

supervisor_actor::behavior_type supervisor_behavior(supervisor_actor::stateful_pointer<supervisor_state> self,
                                                    supervisor_parts parts);

}  // namespace troupe
