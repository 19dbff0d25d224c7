#include "runtime/grammar/json_names.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

namespace troupe::grammar {
namespace {

bool reads(std::string_view text) { return json_names().read(text); }

TEST(json_names, finds_a_name_that_stands_twice_in_its_object) {
  EXPECT_FALSE(reads(R"({"a":1,"a")"));
  EXPECT_FALSE(reads(R"({"":1,"":2})"));
  EXPECT_FALSE(reads(R"({"a":{"b":[{"a":1}]},"a":2})")) << "behind objects within";
  EXPECT_FALSE(reads(R"([{"a":1},{"b":1,"b":2}])"));
  EXPECT_FALSE(reads("{ \"a\" : 1 ,\n \"a\" : 2}"));
}

TEST(json_names, lets_a_name_stand_in_different_objects_and_as_a_value) {
  EXPECT_TRUE(reads(R"({"a":{"a":{"a":"a"}},"b":["a","a","a:"],"ab":"a"})"));
  EXPECT_TRUE(reads(R"([{"a":1},{"a":2}])"));
  EXPECT_TRUE(reads(R"({"a":"}{,\"a\":","b":"\\"})")) << "marks within strings mean nothing";
  EXPECT_TRUE(reads(R"({"A":1,"a":2})"));
}

TEST(json_names, compares_what_names_mean_not_how_they_are_written) {
  EXPECT_FALSE(reads(R"({"ab":1,"\u0061b":2})"));
  EXPECT_FALSE(reads(R"({"a\"b":1,"a\u0022b":2})"));
  EXPECT_FALSE(reads("{\"\\ud83d\\ude00\":1,\"\xF0\x9F\x98\x80\":2}"));
  EXPECT_TRUE(reads(R"({"a\\n":1,"a\n":2})"));
  EXPECT_FALSE(reads(R"({"\ud83d":1,"\ud83d":2})")) << "no character";
}

TEST(json_names, knows_the_name_that_has_begun_and_those_of_its_object) {
  json_names names;
  ASSERT_TRUE(names.read(R"({"x":{"y":1},"ab":2,"a)"));
  EXPECT_EQ(names.string(), json_names::reading::name);
  EXPECT_EQ(names.begun(), "a");
  EXPECT_TRUE(names.has("x") && names.has("ab") && !names.has("y") && !names.has("a"));
  EXPECT_TRUE(names.has_beginning("a") && !names.has_beginning("y"));
  EXPECT_EQ(names.beginning(""), (std::vector<std::string>{"ab", "x"}));
  ASSERT_TRUE(names.read("\\"));
  EXPECT_EQ(names.begun(), std::nullopt);
  EXPECT_EQ(names.surely_begun(), "a");
  ASSERT_TRUE(names.read("n\\ud83d\\u"));
  EXPECT_EQ(names.begun(), std::nullopt);
  EXPECT_EQ(names.surely_begun(), "a\n");
  ASSERT_TRUE(names.read("de00"));
  EXPECT_EQ(names.begun(), "a\n\xF0\x9F\x98\x80");
  ASSERT_TRUE(names.read("\":{"));
  EXPECT_FALSE(names.has("x")) << "in an object of its own";
  EXPECT_TRUE(names.has_any());
  ASSERT_TRUE(names.read("}}"));
  EXPECT_FALSE(names.has_any());
}

// Texts of a small language with few names, so that many stand twice.
class random_text {
 public:
  explicit random_text(std::uint64_t seed) : random_(seed) {}
  std::string value(int depth) {
    switch (random_() % (depth > 0 ? 4 : 2)) {
      case 0:
        return std::to_string(random_() % 100);
      case 1:
        return name() + (random_() % 2 == 0 ? " " : "");
      case 2:
        return "[" + list([&] { return value(depth - 1); }) + "]";
      default: {
        std::set<std::string> before;
        return "{" + list([&] {
                 const std::string each = name();
                 is_unique_ = before.insert(each).second && is_unique_;
                 return each + ":" + value(depth - 1);
               }) +
               "}";
      }
    }
  }
  bool is_unique() const { return is_unique_; }

 private:
  std::string name() {
    static const std::vector<std::string> all = {R"("")", R"("a")", R"("b")", R"("ab")", R"("{")", R"("\"")"};
    return all[random_() % all.size()];
  }
  template <class Make>
  std::string list(Make make) {
    std::string out;
    for (std::uint64_t n = random_() % 4, i = 0; i < n; ++i) {
      const std::string each = make();
      out += (i > 0 ? "," : "") + each;
    }
    return out;
  }

  std::mt19937_64 random_;
  bool is_unique_ = true;
};

TEST(json_names, agrees_with_who_wrote_the_text) {
  int twice = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    random_text writer(seed);
    const std::string text = writer.value(4);
    ASSERT_EQ(reads(text), writer.is_unique()) << text;
    twice += writer.is_unique() ? 0 : 1;
  }
  EXPECT_GT(twice, 200);
  EXPECT_LT(twice, 2700);
}

TEST(json_names, come_back_to_every_place_that_they_were_at) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const std::string text = random_text(seed).value(4);
    std::mt19937_64 random(seed);
    json_names names;
    std::vector<json_names::place> places;
    std::size_t at = 0;
    for (int moves = 0; moves < 200; ++moves) {
      if (random() % 3 == 0 && at > 0) {
        at = random() % at;
        names.back_to(places[at]);
        places.resize(at);
      }
      if (at == text.size()) continue;
      places.push_back(names.here());
      json_names anew;
      const bool expected = anew.read(text.substr(0, ++at));
      ASSERT_EQ(names.read(text.substr(at - 1, 1)), expected) << text.substr(0, at);
      if (!expected) {
        names.back_to(places.back());
        places.pop_back();
        --at;
        continue;
      }
      ASSERT_EQ(names.string(), anew.string()) << text.substr(0, at);
      ASSERT_EQ(names.begun(), anew.begun()) << text.substr(0, at);
      ASSERT_EQ(names.has_any(), anew.has_any()) << text.substr(0, at);
      for (const char* each : {"", "a", "b", "ab", "{", "\""}) ASSERT_EQ(names.has(each), anew.has(each));
    }
  }
}

}  // namespace
}  // namespace troupe::grammar
