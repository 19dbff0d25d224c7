// What a model thinks and what it answers, in texts that come in pieces.
#include "runtime/output/reasoning_reader.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace troupe {
namespace {

struct told_parts {
  std::string reasoning, answer;
  bool has_reasoned = false;
  friend bool operator==(const told_parts&, const told_parts&) = default;
};

void PrintTo(const told_parts& said, std::ostream* out) {
  *out << "(" << said.reasoning << "|" << said.answer << "|" << said.has_reasoned << ")";
}

told_parts told(reasoning_start start, const std::vector<std::string>& pieces) {
  reasoning_reader reader(start);
  told_parts all;
  const auto take = [&](const reasoning_reader::parts& said) {
    EXPECT_TRUE(said.reasoning.empty() || all.answer.empty()) << "reasoning behind the answer";
    all.reasoning += said.reasoning;
    all.answer += said.answer;
  };
  for (const std::string& piece : pieces) take(reader.add(piece));
  take(reader.end());
  all.has_reasoned = reader.has_reasoned();
  return all;
}

TEST(reasoning_reader, tells_what_is_thought_from_the_answer) {
  using enum reasoning_start;
  EXPECT_EQ(told(possible, {"<think>\nA city?\n</think>\n\nTokyo."}),
            (told_parts{"A city?", "Tokyo.", true}));
  EXPECT_EQ(told(begun, {"\nA city?\n</think>\n\nTokyo.\n"}), (told_parts{"A city?", "Tokyo.\n", true}));
  EXPECT_EQ(told(possible, {"<think>\n\n</think>\n\nTokyo."}), (told_parts{"", "Tokyo.", true}));
  EXPECT_EQ(told(possible, {"\n <think>a</think>b</think> <think>c"}),
            (told_parts{"a", "b</think> <think>c", true}));
}

TEST(reasoning_reader, an_answer_without_reasoning_stays_as_it_is) {
  using enum reasoning_start;
  for (const std::string text : {"", " ", "\n\nHello", "<b>", "<thin", "a <think>b</think>", "<thinking>"}) {
    EXPECT_EQ(told(possible, {text}), (told_parts{"", text, false})) << text;
    EXPECT_EQ(told(none, {text}), (told_parts{"", text, false})) << text;
  }
  EXPECT_EQ(told(none, {"<think>a</think>b"}), (told_parts{"", "<think>a</think>b", false}));
}

TEST(reasoning_reader, what_was_cut_off_stays_reasoning) {
  using enum reasoning_start;
  EXPECT_EQ(told(begun, {"So if "}), (told_parts{"So if", "", true}));
  EXPECT_EQ(told(begun, {"a < b </thi"}), (told_parts{"a < b </thi", "", true}));
  EXPECT_EQ(told(possible, {"<think>"}), (told_parts{"", "", true}));
  EXPECT_EQ(told(begun, {"a</think>\n "}), (told_parts{"a", "", true}));
}

// Whatever the pieces, and nothing is kept back that no mark can begin with.
TEST(reasoning_reader, pieces_make_no_difference) {
  std::mt19937 random(7);
  const std::vector<std::string> words{"<think>", "</think>", "<", "/", "think", ">", " ", "\n", "a", "é"};
  int reasoned = 0;
  for (int round = 0; round < 20'000; ++round) {
    const auto start = static_cast<reasoning_start>(random() % 3);
    std::string text = random() % 2 ? "<think>" : "";
    for (std::size_t left = random() % 12; left > 0; --left) text += words[random() % words.size()];
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size();) {
      pieces.push_back(text.substr(at, 1 + random() % 4));
      at += pieces.back().size();
    }
    const told_parts whole = told(start, {text});
    ASSERT_EQ(told(start, pieces), whole) << text;
    reasoned += !whole.reasoning.empty() && !whole.answer.empty() ? 1 : 0;
  }
  EXPECT_GT(reasoned, 1000);
}

TEST(reasoning_reader, text_is_told_as_soon_as_it_is_none_of_a_mark) {
  reasoning_reader reader(reasoning_start::begun);
  EXPECT_EQ(reader.add("I think").reasoning, "I think");
  EXPECT_EQ(reader.add(" of <").reasoning, " of");
  EXPECT_EQ(reader.add("b>").reasoning, " <b>");
  EXPECT_FALSE(reader.is_over());
  EXPECT_EQ(reader.add("</think>").reasoning, "");
  EXPECT_TRUE(reader.is_over());
  EXPECT_EQ(reader.add("\nYes").answer, "Yes");
}

}  // namespace
}  // namespace troupe
