// Requests that wait for their grammars.
#include "runtime/grammar/specification/compile_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>

#include "runtime/grammar/specification/compile_spec.hpp"
#include "tests/support/paths.hpp"

namespace troupe::grammar {
namespace {

constexpr compile_lane quick = compile_lane::quick, patient = compile_lane::patient;

grammar_spec_ptr shared_regex(const std::string& text) {
  return std::make_shared<const grammar_spec>(grammar_spec{.kind = grammar_kind::regex, .text = text});
}
compile_queue::compiled compile_it(const grammar_spec_ptr& spec, const grammar_limits& limits = {}) {
  return compile(*spec, byte_token_trie(), limits);
}
compile_queue::compiled out_of_steps() {
  return tl::unexpected(exceeded("steps to compile", 1, "max_compile_steps"));
}

TEST(compile_queue, equal_grammars_are_compiled_once_for_all_who_wait) {
  compile_queue queue({}, byte_token_trie());
  EXPECT_FALSE(queue.ask(1, shared_regex("a"), {}, {}));
  EXPECT_FALSE(queue.ask(2, shared_regex("b"), {}, {}));
  EXPECT_FALSE(queue.ask(3, shared_regex("a"), {}, {}));
  const auto first = queue.next(quick);
  EXPECT_EQ(first->text, "a");
  EXPECT_EQ(queue.next(quick), nullptr) << "one at a time";
  EXPECT_FALSE(queue.ask(4, shared_regex("a"), {}, {})) << "while it is compiled";
  EXPECT_EQ(queue.done(quick, compile_it(first), {}), (std::vector<request_id>{1, 3, 4}));
  EXPECT_TRUE(queue.ask(5, shared_regex("a"), {}, {}));
  const auto second = queue.next(quick);
  EXPECT_EQ(second->text, "b");
  EXPECT_EQ(queue.done(quick, compile_it(second), {}), std::vector<request_id>{2});
  EXPECT_EQ(queue.next(quick), nullptr);
  EXPECT_EQ(queue.num_waiting(), 0U);
}

TEST(compile_queue, a_tenant_with_more_than_its_share_of_what_waits_is_refused_another) {
  compile_queue queue({.max_bytes = 1U << 20U}, byte_token_trie());
  request_id id = 0;
  const auto ask = [&](const std::string& text, const char* tenant) {
    return queue.ask(++id, shared_regex(text), {}, tenant);
  };
  std::optional<compile_queue::compiled> refusal;
  int taken = 0;
  for (; !refusal && taken < 100; ++taken)
    refusal =
        ask(std::string(1U << 20U, static_cast<char>('a' + taken % 26)) + std::to_string(taken), "many");
  ASSERT_TRUE(refusal && !*refusal);
  EXPECT_EQ(refusal->error().code, error_code::resource_exhausted);
  EXPECT_GT(refusal->error().retry_after, 0);
  const auto room = static_cast<int>(max_awaited_bytes >> 20U);
  EXPECT_GE(taken, room / 2);
  EXPECT_LE(taken, room + 2);
  EXPECT_FALSE(ask(std::string(1U << 20U, 'a') + "0", "many")) << "waits already: it takes no memory";
  EXPECT_FALSE(ask("x", "few"));
  const std::size_t waiting = queue.num_waiting();
  const grammar_spec_ptr one = queue.next(patient);
  ASSERT_TRUE(one);
  for (const request_id each : queue.done(patient, out_of_steps(), {})) queue.forget(each);
  for (request_id each = 1; each < id / 2; ++each) queue.forget(each);
  EXPECT_LT(queue.num_waiting(), waiting);
  EXPECT_FALSE(ask("y", "many")) << "there is room again";
}

std::string texts_in_order(compile_queue& queue, compile_lane lane) {
  std::string order;
  while (const grammar_spec_ptr spec = queue.next(lane)) {
    order += spec->text;
    queue.done(lane, lane == quick ? out_of_steps() : compile_it(spec), {});
  }
  return order;
}

TEST(compile_queue, tenants_take_turns_on_either_lane) {
  compile_queue queue({}, byte_token_trie());
  const auto ask = [&](request_id id, const char* text, const char* tenant) {
    EXPECT_FALSE(queue.ask(id, shared_regex(text), {}, tenant));
  };
  for (request_id id = 1; id <= 4; ++id) ask(id, std::string(1, static_cast<char>('a' + id)).c_str(), "many");
  ask(5, "x", "few");
  ask(6, "y", "few");
  ask(7, "z", "one");
  ask(8, "e", "one");  // which another has asked for, too
  EXPECT_EQ(texts_in_order(queue, quick), "bxzcyed");
  EXPECT_EQ(texts_in_order(queue, patient), "bxzcyed");
  EXPECT_EQ(queue.num_waiting(), 0U);
}

TEST(compile_queue, who_comes_while_a_grammar_is_compiled_waits_for_that_one_alone) {
  compile_queue queue({}, byte_token_trie());
  EXPECT_FALSE(queue.ask(1, shared_regex("a"), {}, "many"));
  EXPECT_FALSE(queue.ask(2, shared_regex("b"), {}, "many"));
  const auto first = queue.next(quick);
  EXPECT_EQ(first->text, "a");
  EXPECT_FALSE(queue.ask(3, shared_regex("c"), {}, "many"));
  EXPECT_FALSE(queue.ask(4, shared_regex("x"), {}, "few"));
  queue.done(quick, compile_it(first), {});
  EXPECT_EQ(texts_in_order(queue, quick), "xbc");
}

TEST(compile_queue, a_turn_is_no_longer_spent_on_what_its_tenant_has_forgotten) {
  compile_queue queue({}, byte_token_trie());
  EXPECT_FALSE(queue.ask(1, shared_regex("b"), {}, "two"));
  EXPECT_FALSE(queue.ask(2, shared_regex("d"), {}, "two"));
  EXPECT_FALSE(queue.ask(3, shared_regex("b"), {}, "three"));
  queue.forget(1);
  EXPECT_EQ(texts_in_order(queue, quick), "db");
}

TEST(compile_queue, who_forgets_a_grammar_costs_nobody_a_turn) {
  compile_queue queue({}, byte_token_trie());
  EXPECT_FALSE(queue.ask(1, shared_regex("a"), {}, "one"));
  EXPECT_FALSE(queue.ask(2, shared_regex("b"), {}, "two"));
  EXPECT_FALSE(queue.ask(3, shared_regex("b"), {}, "three"));
  EXPECT_FALSE(queue.ask(4, shared_regex("c"), {}, "three"));
  queue.forget(1);
  queue.forget(2);
  EXPECT_EQ(texts_in_order(queue, quick), "bc");
}

TEST(compile_queue, what_nobody_waits_for_any_more_is_not_compiled) {
  compile_queue queue({}, byte_token_trie());
  for (request_id id = 1; id <= 3; ++id)
    EXPECT_FALSE(queue.ask(id, shared_regex(std::to_string(id)), {}, {}));
  queue.forget(1);
  queue.forget(9);
  const auto second = queue.next(quick);
  EXPECT_EQ(second->text, "2");
  queue.forget(2);
  EXPECT_TRUE(queue.done(quick, compile_it(second), {}).empty());
  EXPECT_TRUE(queue.ask(4, shared_regex("2"), {}, {})) << "compiled all the same";
  EXPECT_FALSE(queue.ask(5, shared_regex("1"), {}, {})) << "left out, so not known";
  EXPECT_EQ(queue.next(quick)->text, "3");
}

TEST(compile_queue, what_nobody_waits_for_any_more_holds_no_memory_while_another_is_compiled) {
  compile_queue queue({}, byte_token_trie());
  EXPECT_FALSE(queue.ask(1, shared_regex("slow"), {}, {}));
  ASSERT_NE(queue.next(quick), nullptr);
  const std::size_t before = queue.cache().count().bytes;
  for (request_id id = 2; id < 100; ++id) {
    const grammar_spec_ptr spec = shared_regex(std::string(1000, 'x') + std::to_string(id));
    EXPECT_FALSE(queue.ask(id, spec, {}, {}));
    queue.forget(id);
    EXPECT_EQ(spec.use_count(), 1);
  }
  EXPECT_EQ(queue.cache().count().bytes, before);
}

TEST(compile_queue, a_fault_of_ours_is_told_and_not_remembered) {
  compile_queue queue({}, byte_token_trie());
  EXPECT_FALSE(queue.ask(1, shared_regex("a"), {}, {}));
  ASSERT_NE(queue.next(quick), nullptr);
  EXPECT_EQ(queue.done(quick, fail(error_code::internal, "out of memory"), {}), std::vector<request_id>{1});
  EXPECT_FALSE(queue.ask(2, shared_regex("a"), {}, {})) << "compiled anew";
  EXPECT_EQ(queue.done(quick, compile_it(queue.next(quick)), {}), std::vector<request_id>{2});
  EXPECT_TRUE(queue.ask(3, shared_regex("a"), {}, {})->has_value());
}

TEST(compile_queue, a_refusal_is_told_to_all_and_remembered) {
  compile_queue queue({}, byte_token_trie());
  EXPECT_FALSE(queue.ask(1, shared_regex("("), {}, {}));
  EXPECT_FALSE(queue.ask(2, shared_regex("("), {}, {}));
  EXPECT_EQ(queue.done(quick, compile_it(queue.next(quick)), {}).size(), 2U);
  const auto known = queue.ask(3, shared_regex("("), {}, {});
  ASSERT_TRUE(known);
  EXPECT_EQ(known->error().code, error_code::invalid_argument);
}

TEST(compile_queue, what_runs_out_of_quick_steps_goes_on_to_the_patient_lane_and_holds_nobody_up) {
  compile_queue queue({}, byte_token_trie());
  EXPECT_FALSE(queue.ask(1, shared_regex("hard"), {}, {}));
  EXPECT_FALSE(queue.ask(2, shared_regex("easy"), {}, {}));
  EXPECT_EQ(queue.next(patient), nullptr) << "everything is tried on the quick lane first";
  const auto hard = queue.next(quick);
  EXPECT_TRUE(queue.done(quick, out_of_steps(), {}).empty()) << "told to nobody";
  EXPECT_FALSE(queue.ask(3, shared_regex("hard"), {}, {})) << "and not remembered";
  EXPECT_EQ(queue.next(patient), hard);
  EXPECT_EQ(queue.next(patient), nullptr) << "one at a time";
  const auto easy = queue.next(quick);
  EXPECT_EQ(easy->text, "easy");
  EXPECT_EQ(queue.done(quick, compile_it(easy), {}), std::vector<request_id>{2});
  EXPECT_FALSE(queue.ask(4, shared_regex("hard"), {}, {}));
  EXPECT_EQ(queue.next(quick), nullptr) << "compiled once, whichever lane it is in";
  EXPECT_EQ(queue.done(patient, compile_it(hard), {}), (std::vector<request_id>{1, 3, 4}));
  EXPECT_TRUE(queue.ask(5, shared_regex("hard"), {}, {})->has_value());
  EXPECT_EQ(queue.num_waiting(), 0U);
}

TEST(compile_queue, all_steps_spent_on_the_patient_lane_are_a_refusal) {
  compile_queue queue({}, byte_token_trie());
  EXPECT_FALSE(queue.ask(1, shared_regex("hard"), {}, {}));
  ASSERT_NE(queue.next(quick), nullptr);
  EXPECT_TRUE(queue.done(quick, out_of_steps(), {}).empty());
  ASSERT_NE(queue.next(patient), nullptr);
  EXPECT_EQ(queue.done(patient, out_of_steps(), {}), std::vector<request_id>{1});
  EXPECT_EQ(queue.ask(2, shared_regex("hard"), {}, {})->error().param, "max_compile_steps");
  EXPECT_EQ(queue.cache().count().refused, 1U);
}

TEST(compile_queue, what_nobody_waits_for_any_more_leaves_either_lane) {
  compile_queue queue({}, byte_token_trie());
  for (request_id id = 1; id <= 3; ++id) {
    EXPECT_FALSE(queue.ask(id, shared_regex(std::to_string(id)), {}, {}));
    ASSERT_NE(queue.next(quick), nullptr);
    if (id == 2) queue.forget(id);  // while it is tried
    EXPECT_TRUE(queue.done(quick, out_of_steps(), {}).empty());
  }
  queue.forget(1);
  EXPECT_EQ(queue.num_waiting(), 1U);
  EXPECT_EQ(queue.next(patient)->text, "3") << "neither of the other two";
  EXPECT_FALSE(queue.ask(4, shared_regex("2"), {}, {})) << "and nothing is known of them";
  EXPECT_FALSE(queue.ask(5, shared_regex("1"), {}, {}));
  EXPECT_EQ(queue.next(quick)->text, "2");
}

TEST(compile_queue, a_long_text_is_read_on_the_patient_lane) {
  compile_queue queue({}, byte_token_trie());
  EXPECT_FALSE(queue.ask(1, shared_regex(std::string(max_quick_bytes + 1, 'a')), {}, {}));
  EXPECT_FALSE(queue.ask(2, shared_regex(std::string(max_quick_bytes, 'a')), {}, {}));
  EXPECT_EQ(queue.next(quick)->text.size(), max_quick_bytes);
  EXPECT_EQ(queue.next(patient)->text.size(), max_quick_bytes + 1);
}

std::uint64_t steps_of(const grammar_spec_ptr& spec) {
  std::uint64_t most = grammar_limits{}.max_compile_steps, least = 0;
  while (least + 1 < most) {
    grammar_limits limits;
    limits.max_compile_steps = (least + most) / 2;
    (ran_out_of_steps(compile_it(spec, limits)) ? least : most) = limits.max_compile_steps;
  }
  return most;
}

grammar_spec_ptr spec(grammar_kind kind, std::string text) {
  return std::make_shared<const grammar_spec>(grammar_spec{.kind = kind, .text = std::move(text)});
}

// To the step; and fewer steps never make another grammar, or another refusal, of a text.
TEST(compile_queue, the_quick_lane_takes_exactly_its_share_of_the_steps) {
  using enum grammar_kind;
  for (const auto& each :
       {spec(grammar_kind::regex, "(?=(a{7})*$)(?=(a{11})*$)a+"), spec(json_object, ""),
        spec(grammar, "root ::= x | \"a\" root\nx ::= y \"b\"\ny ::= x | \"c\" y | \"d\""),
        spec(json_schema, R"({"allOf":[{"type":"string","pattern":"^(a{7})*$"},{"pattern":"^(a{11})*$"},)"
                          R"({"minLength":1,"maxLength":76}]})"),
        spec(json_schema, R"({"allOf":[{"type":"string","pattern":"^(a{7})*$"},{"pattern":"^(a{11})*$"},)"
                          R"({"minLength":1,"maxLength":77}]})"),
        spec(json_schema,
             R"({"anyOf":[{"type":"object","properties":{"a":{"$ref":"#"}}},{"type":"null"}]})")}) {
    const std::uint64_t steps = steps_of(each);
    ASSERT_GT(steps, 1U) << each->text;
    const auto whole = compile_it(each);
    for (const std::uint64_t share : {steps, steps - 1, steps / 2 + 1, steps / 3 + 1, std::uint64_t{1}}) {
      grammar_limits limits;
      limits.max_compile_steps = share * 128 + 127;
      compile_queue queue({}, byte_token_trie());
      EXPECT_FALSE(queue.ask(1, each, {}, {}));
      const auto outcome = compile_it(queue.next(quick), quick_limits(limits));
      EXPECT_EQ(ran_out_of_steps(outcome), share < steps) << each->text << " with " << share;
      if (share == steps) {
        EXPECT_EQ(outcome.has_value(), whole.has_value());
      }
      EXPECT_EQ(queue.done(quick, outcome, {}).size(), share < steps ? 0U : 1U);
      EXPECT_EQ(queue.next(patient) != nullptr, share < steps);
    }
  }
  grammar_limits few;
  few.max_compile_steps = 5;
  EXPECT_EQ(quick_limits(few).max_compile_steps, 1U);
}

// Of each text the outcome is known beforehand: what it needs, and whether it is refused in the end.
bool is_hard(const std::string& text) { return text.find('h') != std::string::npos; }
bool is_refused(const std::string& text) { return text.find('r') != std::string::npos; }
compile_queue::compiled outcome_of(const std::string& text, compile_lane lane) {
  static const compile_queue::compiled good = compile_it(shared_regex("a"));
  if (lane == quick && is_hard(text)) return out_of_steps();
  if (!is_refused(text)) return good;
  return is_hard(text) ? out_of_steps() : fail(error_code::invalid_argument, "refused");
}

// The queue beside what is expected of it, as plain lists.
class queue_story {
 public:
  explicit queue_story(std::uint64_t seed) : random_(seed) {}

  void turn() {
    const compile_lane lane = draw(2) == 0 ? quick : patient;
    switch (draw(8)) {
      case 0:
      case 1:
      case 2:
        return ask();
      case 3:
        return forget();
      case 4:
      case 5:
        return take_next(lane);
      default:
        return bring_done(lane);
    }
  }
  void check_waiting() const { EXPECT_EQ(queue_.num_waiting(), waiting_.size()); }
  std::uint64_t told = 0, forgotten = 0, passed_on = 0;

 private:
  std::size_t draw(std::size_t below) { return random_() % below; }
  bool is_wanted(const std::string& text) const {
    return std::ranges::any_of(waiting_, [&](const auto& who) { return who.second == text; });
  }
  bool is_under_way(const std::string& text) const {
    return std::ranges::any_of(current_,
                               [&](const auto& at) { return at.second && at.second->text == text; });
  }

  void ask() {
    const std::string text = std::string(draw(3) == 0 ? "h" : "e") + (draw(3) == 0 ? "r" : "g") +
                             static_cast<char>('a' + draw(26));
    const bool is_new = !is_wanted(text) && !is_under_way(text) && !known_.contains(text);
    const auto answer = queue_.ask(++last_, shared_regex(text), {}, {});
    ASSERT_EQ(answer.has_value(), known_.contains(text));
    if (answer) {
      ASSERT_EQ(answer->has_value(), !is_refused(text));
    } else {
      waiting_.emplace(last_, text);
    }
    if (is_new) order_[quick].push_back(text);
  }

  void forget() {
    if (waiting_.empty()) return;
    const auto who = std::next(waiting_.begin(), static_cast<std::ptrdiff_t>(draw(waiting_.size())));
    const std::string text = who->second;
    queue_.forget(who->first);
    waiting_.erase(who);
    ++forgotten;
    if (is_wanted(text) || is_under_way(text)) return;
    for (auto& [lane, texts] : order_) std::erase(texts, text);
  }

  void take_next(compile_lane lane) {
    const grammar_spec_ptr next = queue_.next(lane);
    std::deque<std::string>& texts = order_[lane];
    ASSERT_EQ(next != nullptr, !current_[lane] && !texts.empty());
    if (!next) return;
    ASSERT_EQ(next->text, texts.front());
    texts.pop_front();
    current_[lane] = next;
  }

  void bring_done(compile_lane lane) {
    const grammar_spec_ptr ended = std::exchange(current_[lane], nullptr);
    if (!ended) return;
    const std::string& text = ended->text;
    const bool goes_on = lane == quick && is_hard(text);
    const auto who = queue_.done(lane, outcome_of(text, lane), {});
    std::vector<request_id> owed;
    for (const auto& [id, wanted] : waiting_)
      if (wanted == text && !goes_on) owed.push_back(id);
    ASSERT_EQ(who, owed);
    for (const request_id id : who) waiting_.erase(id);
    told += who.size();
    if (!goes_on) known_.insert(text);
    if (!goes_on || !is_wanted(text)) return;
    order_[patient].push_back(text);
    ++passed_on;
  }

  std::mt19937_64 random_;
  compile_queue queue_{{}, byte_token_trie()};
  std::map<request_id, std::string> waiting_;
  std::map<compile_lane, grammar_spec_ptr> current_;
  std::map<compile_lane, std::deque<std::string>> order_;
  std::set<std::string> known_;
  request_id last_ = 0;
};

TEST(compile_queue, answers_each_request_once_and_in_order_whatever_comes_when) {
  std::uint64_t told = 0, forgotten = 0, passed_on = 0;
  const std::uint64_t seeds = troupe::test::repeated(300);
  for (std::uint64_t seed = 0; seed < seeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    queue_story story(seed);
    for (int turn = 0; turn < 120; ++turn) {
      story.turn();
      story.check_waiting();
    }
    told += story.told;
    forgotten += story.forgotten;
    passed_on += story.passed_on;
  }
  EXPECT_GT(told, seeds * 4);
  EXPECT_GT(forgotten, seeds * 3);
  EXPECT_GT(passed_on, seeds);
}

}  // namespace
}  // namespace troupe::grammar
