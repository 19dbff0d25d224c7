// Requests that wait for their grammars.
#include "runtime/grammar/compile_queue.hpp"

#include <gtest/gtest.h>

#include <string>

#include "runtime/grammar/compile_spec.hpp"

namespace troupe::grammar {
namespace {

grammar_spec_ptr regex(const std::string& text) {
  return std::make_shared<const grammar_spec>(grammar_spec{.kind = grammar_kind::regex, .text = text});
}
compile_queue::compiled compile_it(const grammar_spec_ptr& spec) {
  return compile(*spec, byte_token_trie(), grammar_limits{});
}

TEST(compile_queue, equal_grammars_are_compiled_once_for_all_who_wait) {
  compile_queue queue({}, byte_token_trie());
  EXPECT_FALSE(queue.ask(1, regex("a"), {}));
  EXPECT_FALSE(queue.ask(2, regex("b"), {}));
  EXPECT_FALSE(queue.ask(3, regex("a"), {}));
  const auto first = queue.next();
  EXPECT_EQ(first->text, "a");
  EXPECT_EQ(queue.next(), nullptr) << "one at a time";
  EXPECT_FALSE(queue.ask(4, regex("a"), {})) << "while it is compiled";
  EXPECT_EQ(queue.done(compile_it(first), {}), (std::vector<request_id>{1, 3, 4}));
  EXPECT_TRUE(queue.ask(5, regex("a"), {}));
  const auto second = queue.next();
  EXPECT_EQ(second->text, "b");
  EXPECT_EQ(queue.done(compile_it(second), {}), std::vector<request_id>{2});
  EXPECT_EQ(queue.next(), nullptr);
  EXPECT_EQ(queue.num_waiting(), 0U);
}

TEST(compile_queue, what_nobody_waits_for_any_more_is_not_compiled) {
  compile_queue queue({}, byte_token_trie());
  for (request_id id = 1; id <= 3; ++id) EXPECT_FALSE(queue.ask(id, regex(std::to_string(id)), {}));
  queue.forget(1);
  queue.forget(9);
  const auto second = queue.next();
  EXPECT_EQ(second->text, "2");
  queue.forget(2);
  EXPECT_TRUE(queue.done(compile_it(second), {}).empty());
  EXPECT_TRUE(queue.ask(4, regex("2"), {})) << "compiled all the same";
  EXPECT_FALSE(queue.ask(5, regex("1"), {})) << "left out, so not known";
  EXPECT_EQ(queue.next()->text, "3");
}

TEST(compile_queue, what_nobody_waits_for_any_more_holds_no_memory_while_another_is_compiled) {
  compile_queue queue({}, byte_token_trie());
  EXPECT_FALSE(queue.ask(1, regex("slow"), {}));
  ASSERT_NE(queue.next(), nullptr);
  const std::size_t before = queue.cache().count().bytes;
  for (request_id id = 2; id < 100; ++id) {
    const grammar_spec_ptr spec = regex(std::string(1000, 'x') + std::to_string(id));
    EXPECT_FALSE(queue.ask(id, spec, {}));
    queue.forget(id);
    EXPECT_EQ(spec.use_count(), 1);
  }
  EXPECT_EQ(queue.cache().count().bytes, before);
}

TEST(compile_queue, a_fault_of_ours_is_told_and_not_remembered) {
  compile_queue queue({}, byte_token_trie());
  EXPECT_FALSE(queue.ask(1, regex("a"), {}));
  ASSERT_NE(queue.next(), nullptr);
  EXPECT_EQ(queue.done(fail(error_code::internal, "out of memory"), {}), std::vector<request_id>{1});
  EXPECT_FALSE(queue.ask(2, regex("a"), {})) << "compiled anew";
  EXPECT_EQ(queue.done(compile_it(queue.next()), {}), std::vector<request_id>{2});
  EXPECT_TRUE(queue.ask(3, regex("a"), {})->has_value());
}

TEST(compile_queue, a_refusal_is_told_to_all_and_remembered) {
  compile_queue queue({}, byte_token_trie());
  EXPECT_FALSE(queue.ask(1, regex("("), {}));
  EXPECT_FALSE(queue.ask(2, regex("("), {}));
  EXPECT_EQ(queue.done(compile_it(queue.next()), {}).size(), 2U);
  const auto known = queue.ask(3, regex("("), {});
  ASSERT_TRUE(known);
  EXPECT_EQ(known->error().code, error_code::invalid_argument);
}

}  // namespace
}  // namespace troupe::grammar
