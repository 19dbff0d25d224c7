// Calls in texts that come in pieces.
#include "runtime/openai/tool_call_reader.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace troupe::openai {
namespace {

// What all pieces together say, and how often each call's name was told.
struct told_parts {
  std::string content;
  std::vector<std::string> calls;  // name, and arguments behind it
  bool has_called = false;
  friend bool operator==(const told_parts&, const told_parts&) = default;
};

void take(told_parts& into, const std::vector<answer_part>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    into.content += parts[i].text;
    EXPECT_NE(parts[i].text.empty(), !parts[i].call);
    EXPECT_FALSE(i > 0 && !parts[i].call && !parts[i - 1].call) << "two texts in a row";
    if (!parts[i].call) continue;
    const tool_call_part& call = *parts[i].call;
    EXPECT_EQ(call.name.empty(), call.index < into.calls.size());
    if (call.index == into.calls.size()) into.calls.push_back(call.name + " ");
    ASSERT_LT(call.index, into.calls.size());
    into.calls[call.index] += call.arguments;
  }
}

// `ends`: where pieces end.
told_parts told(const std::string& text, const std::vector<std::size_t>& ends = {}, bool is_cut = false) {
  tool_call_reader reader;
  told_parts all;
  std::size_t from = 0;
  for (const std::size_t end : ends) {
    take(all, reader.add(std::string_view(text).substr(from, end - from)));
    from = end;
  }
  std::vector<answer_part> last = reader.add(std::string_view(text).substr(from));
  reader.end(is_cut, last);
  take(all, last);
  all.has_called = reader.has_called();
  return all;
}

const std::string add_call = "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": {}}}\n</tool_call>";
const std::string tricky_call =
    "<tool_call>\n{\"name\": \"tell\", \"arguments\": {\"x\": \"}\\n</tool_call>\"}}\n</tool_call>";

TEST(tool_call_reader, tells_calls_from_text) {
  EXPECT_EQ(told("Hello"), (told_parts{"Hello", {}, false}));
  EXPECT_EQ(told(add_call), (told_parts{"", {"add {\"a\": {}}"}, true}));
  EXPECT_EQ(told("I add.\n" + add_call + "\n" + tricky_call + "\n"),
            (told_parts{"I add.", {"add {\"a\": {}}", "tell {\"x\": \"}\\n</tool_call>\"}"}, true}));
  EXPECT_EQ(told(add_call + "\nDone. "), (told_parts{"\nDone.", {"add {\"a\": {}}"}, true}));
}

TEST(tool_call_reader, text_that_only_looks_like_a_call_stays_as_it_is) {
  for (const std::string text : {"", " ", "\n\n", "a < b", " <tool_call"})
    EXPECT_EQ(told(text), (told_parts{text, {}, false})) << text;
}

TEST(tool_call_reader, what_may_be_the_beginning_of_a_call_is_none_of_a_text_that_was_cut_off) {
  for (const std::string fragment : {"<", "<tool", "\n<tool_call", "<tool_call>\n{\"na"}) {
    EXPECT_EQ(told(fragment, {}, true), (told_parts{"", {}, false})) << fragment;
    EXPECT_EQ(told("Look." + fragment, {}, true), (told_parts{"Look.", {}, false})) << fragment;
    EXPECT_EQ(told(add_call + fragment, {}, true).content, "") << fragment;
  }
  for (const std::string text : {"", " ", "\n", "a < b", "a <b", "Look. "})
    EXPECT_EQ(told(text, {}, true), (told_parts{text, {}, false})) << text;
}

TEST(tool_call_reader, a_call_that_is_cut_off_keeps_what_it_has) {
  for (const char* begun : {"<tool_call>", "<tool_call>\n{\"name\": ", "\n<tool_call>\n{\"name\": \"add"}) {
    EXPECT_EQ(told(begun), (told_parts{"", {}, false})) << begun;
    EXPECT_EQ(told("Look.\n" + std::string(begun)), (told_parts{"Look.", {}, false})) << begun;
    EXPECT_EQ(told(add_call + begun), (told_parts{"", {"add {\"a\": {}}"}, false})) << begun;
  }
  EXPECT_EQ(told("<tool_call>\n{\"name\": \"add\", \"arguments\": "), (told_parts{"", {"add "}, false}));
  EXPECT_EQ(told("<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": {}"),
            (told_parts{"", {"add {\"a\": {}"}, false}));
  EXPECT_EQ(told("<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": {}}"),
            (told_parts{"", {"add {\"a\": {}}"}, false}));
  for (const char* end : {"}", "}\n", "}\n<", "}\n</tool_call"})
    EXPECT_EQ(told("<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": {}}" + std::string(end)),
              (told_parts{"", {"add {\"a\": {}}"}, false}));
  EXPECT_EQ(told(add_call + "\n<tool_call>\n{\"name\": \"add\", \"arguments\": {"),
            (told_parts{"", {"add {\"a\": {}}", "add {"}, false}));
  EXPECT_EQ(told("<tool_call>\n{\"name\": \"add\", \"arguments\": {}}\n</tool"),
            (told_parts{"", {"add {}"}, false}));
}

TEST(tool_call_reader, pieces_of_any_size_say_what_the_whole_says) {
  const std::vector<std::string> parts = {add_call,     tricky_call,       " ", "\n", "word", "<",
                                          "<tool_call", "}\n</tool_call>", "{}"};
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (auto count = random() % 6; count > 0; --count) text += parts[random() % parts.size()];
    text.resize(text.size() - (random() % 2 == 0 ? random() % (text.size() + 1) : 0));
    std::vector<std::size_t> ends;
    for (std::size_t end = random() % 9; end < text.size(); end += random() % 9) ends.push_back(end);
    EXPECT_EQ(told(text, ends), told(text)) << text;
  }
}

TEST(tool_call_reader, nothing_is_kept_back_longer_than_it_must_be) {
  tool_call_reader reader;
  EXPECT_EQ(reader.add("one <").at(0).text, "one");
  EXPECT_EQ(reader.add("two").at(0).text, " <two");
  reader.add("<tool_call>\n{\"name\": \"f\", \"arguments\": {");
  const std::vector<answer_part> parts = reader.add("\"a\": 1}");
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].call->arguments, "\"a\": 1}");
}

TEST(tool_call_reader, what_one_piece_brings_comes_in_the_order_written) {
  tool_call_reader reader;
  const auto parts = reader.add("First. " + add_call + " Then " + tricky_call + tricky_call);
  ASSERT_EQ(parts.size(), 5U);
  for (std::size_t i : {1UL, 3UL, 4UL}) EXPECT_TRUE(parts[i].call.has_value()) << i;
  EXPECT_EQ(parts[0].text, "First.");
  EXPECT_EQ(parts[2].text, " Then");
}

}  // namespace
}  // namespace troupe::openai
