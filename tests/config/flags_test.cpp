#include "config/flags.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "config/options.hpp"

namespace troupe::config {
namespace {

TEST(Flags, EveryOptionHasAFlagThatKeepsTheTextAsGiven) {
  for (const option& which : options()) {
    CLI::App app;
    setting_sources sources;
    add_flags(app,
              {option_group::model, option_group::engine, option_group::bucketing, option_group::server,
               option_group::logging},
              sources);
    app.parse(which.is_switch() ? which.flag() : which.flag() + " 15");
    EXPECT_EQ(sources.flags.at(std::string(which.name)), which.is_switch() ? "true" : "15") << which.name;
    EXPECT_EQ(sources.flags.size(), 1U);
  }
}

TEST(Flags, ASwitchIsTurnedOffByItsNegationAndByAValue) {
  for (const option& which : options()) {
    if (!which.is_switch()) continue;
    const std::string off = "--no" + which.flag().substr(1);
    for (const std::string& text : {off, which.flag() + "=false", off + "=true"}) {
      CLI::App app;
      setting_sources sources;
      add_flags(app, {which.group}, sources);
      app.parse(text);
      EXPECT_EQ(sources.flags.at(std::string(which.name)), "false") << text;
    }
    CLI::App app;
    setting_sources sources;
    add_flags(app, {which.group}, sources);
    EXPECT_THROW(app.parse(which.flag() + "=perhaps"), no_truth_value) << which.name;
  }
}

TEST(Flags, AnyOptionGivenTwiceIsRefused) {
  for (const option& which : options()) {
    const std::string once = which.is_switch() ? which.flag() : which.flag() + " 15";
    const std::string off = which.is_switch() ? "--no" + which.flag().substr(1) : once;
    for (const std::string& text : {once + " " + once, off + " " + once, once + " " + off}) {
      CLI::App app;
      setting_sources sources;
      add_flags(app, {which.group}, sources);
      EXPECT_THROW(app.parse(text), CLI::ArgumentMismatch) << text;
    }
  }
}

TEST(Flags, AnAliasIsKeptUnderTheOptionsName) {
  for (const option& which : options()) {
    for (const std::string_view alias : which.aliases) {
      CLI::App app;
      setting_sources sources;
      add_flags(app, {which.group}, sources);
      app.parse(flag_of(alias) + " 15");
      EXPECT_EQ(sources.flags.at(std::string(which.name)), "15") << alias;
    }
  }
}

TEST(Flags, AreOnlyThoseOfTheGroupsAskedFor) {
  CLI::App app;
  setting_sources sources;
  add_flags(app, {option_group::model}, sources);
  EXPECT_NO_THROW(app.parse("--model a.gguf"));
  EXPECT_THROW(app.parse("--port 80"), CLI::ParseError);
}

TEST(Flags, TakeNegativeNumbersAndTextWithSpaces) {
  CLI::App app;
  setting_sources sources;
  add_flags(app, {option_group::model, option_group::server}, sources);
  app.parse("--tcp-port -1 --model \"a b.gguf\" --config c.toml");
  EXPECT_EQ(sources.flags.at("tcp_port"), "-1");
  EXPECT_EQ(sources.flags.at("model"), "a b.gguf");
  EXPECT_EQ(sources.file, "c.toml");
}

TEST(Flags, HelpShowsEveryOptionWithItsDefaultAndMeaning) {
  CLI::App app;
  setting_sources sources;
  add_flags(app,
            {option_group::model, option_group::engine, option_group::bucketing, option_group::server,
             option_group::logging},
            sources);
  const std::string help = app.help();
  const settings defaults;
  for (const option& which : options()) {
    const std::string behind = which.is_switch() || !which.aliases.empty() ? "," : " ";
    EXPECT_NE(help.find(which.flag() + behind), std::string::npos) << which.name;
    const std::string value = value_text(defaults, which);
    EXPECT_TRUE(value.empty() || help.find("=" + value) != std::string::npos) << which.name;
  }
  EXPECT_NE(help.find("TROUPE_CONFIG"), std::string::npos);
}

}  // namespace
}  // namespace troupe::config
