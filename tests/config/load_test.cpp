#include "config/load.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "config/options.hpp"
#include "config/reference.hpp"
#include "config/values.hpp"
#include "tests/config/config_fixture.hpp"
#include "tests/support/paths.hpp"

namespace troupe::config {
namespace {

// Two values of an option that differ from each other; the first is not its default, and where there are more
// than two neither is the second.
std::pair<std::string, std::string> two_values(const option& which) {
  if (which.name == "port") return {"81", "82"};
  if (which.name == "admin_port") return {"83", "84"};
  if (which.name == "probe_port") return {"85", "86"};
  if (which.is_switch()) {
    const std::string usual = value_text(settings{}, which);
    return {usual == "true" ? "false" : "true", usual};
  }
  if (which.choices.size() == 2) {
    const std::string usual = value_text(settings{}, which);
    return {std::string(which.choices[which.choices[0] == usual ? 1 : 0]), usual};
  }
  if (!which.choices.empty()) return {std::string(which.choices[1]), std::string(which.choices[2])};
  if (std::holds_alternative<std::string settings::*>(which.member)) return {"first", "second"};
  const bool is_time = std::holds_alternative<std::chrono::milliseconds settings::*>(which.member);
  const bool is_size = std::holds_alternative<std::uint64_t settings::*>(which.member);
  const std::int64_t step = which.multiple_of;
  if (std::holds_alternative<double settings::*>(which.member))
    return {ratio_text(which.low + 3), ratio_text(which.low + 4)};
  const std::string unit = is_time ? "ms" : is_size ? "B" : "";
  const std::int64_t least = (which.low + step - 1) / step * step;
  return {std::to_string(least + 3 * step) + unit, std::to_string(least + 4 * step) + unit};
}

std::string as_toml(const option& which, const std::string& text) {
  const bool bare = which.is_switch() || std::holds_alternative<std::int32_t settings::*>(which.member) ||
                    std::holds_alternative<double settings::*>(which.member) ||
                    std::holds_alternative<std::optional<std::int32_t> settings::*>(which.member);
  return std::string(which.name) + " = " + (bare ? text : "\"" + text + "\"") + "\n";
}

TEST(Load, GivesTheDefaultsWhereNothingIsSaid) {
  const auto loaded = load_settings({});
  ASSERT_TRUE(loaded) << loaded.error();
  EXPECT_EQ(loaded->values.port, 8000);
  EXPECT_EQ(loaded->values.tcp_port, 7777);
  EXPECT_EQ(loaded->values.host, "127.0.0.1");
  EXPECT_EQ(loaded->values.kv_cache_memory, 1ULL << 30U);
  EXPECT_EQ(loaded->values.shutdown_grace, std::chrono::seconds(15));
  EXPECT_TRUE(loaded->origins.empty());
  EXPECT_TRUE(loaded->warnings.empty());
}

TEST(Load, EveryOptionComesFromTheFileUnlessTheEnvironmentOrAFlagSaysOtherwise) {
  for (const option& which : options()) {
    SCOPED_TRACE(which.name);
    const auto [first, second] = two_values(which);
    const temporary_file file("# a comment\n" + as_toml(which, first));
    const std::string name(which.name);

    setting_sources sources{.flags = {}, .environment = {{"TROUPE_CONFIG", file.path()}}, .file = {}};
    auto loaded = load_settings(sources);
    ASSERT_TRUE(loaded) << loaded.error();
    EXPECT_EQ(loaded->origins.at(name), file.path() + ":2");
    EXPECT_TRUE(loaded->overridden.empty());
    const std::string from_file = value_text(loaded->values, which);
    EXPECT_NE(from_file, value_text(settings{}, which));

    sources.environment.emplace_back(which.variable(), second);
    loaded = load_settings(sources);
    ASSERT_TRUE(loaded) << loaded.error();
    EXPECT_EQ(loaded->origins.at(name), which.variable());
    const std::string from_environment = value_text(loaded->values, which);
    EXPECT_NE(from_environment, from_file);

    sources.flags[name] = first;
    loaded = load_settings(sources);
    ASSERT_TRUE(loaded) << loaded.error();
    EXPECT_EQ(loaded->origins.at(name), which.flag());
    EXPECT_EQ(value_text(loaded->values, which), from_file);
    const std::vector<std::string> overridden{name + " (" + file.path() + ":2) by " + which.variable(),
                                              name + " (" + which.variable() + ") by " + which.flag()};
    EXPECT_EQ(loaded->overridden, overridden);
  }
}

TEST(Load, ReadsNumbersAsSizesAndTimes) {
  const temporary_file file("kv_cache_memory = 1048576\nshutdown_grace = 3\nread_timeout = 1.5\n");
  const auto loaded = load_settings({.flags = {}, .environment = {}, .file = file.path()});
  ASSERT_TRUE(loaded) << loaded.error();
  EXPECT_EQ(loaded->values.kv_cache_memory, 1ULL << 20U);
  EXPECT_EQ(loaded->values.shutdown_grace, std::chrono::seconds(3));
  EXPECT_EQ(loaded->values.read_timeout, std::chrono::milliseconds(1500));
}

TEST(Load, TheFlagForTheFileWinsOverItsVariable) {
  const temporary_file wanted("port = 1\n");
  const temporary_file other("port = 2\n");
  const auto loaded =
      load_settings({.flags = {}, .environment = {{"TROUPE_CONFIG", other.path()}}, .file = wanted.path()});
  ASSERT_TRUE(loaded) << loaded.error();
  EXPECT_EQ(loaded->values.port, 1);
}

TEST(Load, TellsOfTheFileBeforeItIsOpened) {
  std::vector<std::string> told;
  const auto observer = [&told](const std::string& path) { told.push_back(path); };
  EXPECT_FALSE(load_settings({.flags = {}, .environment = {}, .file = "/there/is/none.toml"}, observer));
  EXPECT_TRUE(load_settings({}, observer));
  EXPECT_EQ(told, std::vector<std::string>{"/there/is/none.toml"});
}

TEST(Load, AnUnknownKeyIsAnErrorThatNamesFileAndLine) {
  EXPECT_EQ(file_error("# one\nhost = \"0.0.0.0\"\nprot = 80\n"),
            ":3: unknown key 'prot'; did you mean 'port'?");
  EXPECT_EQ(file_error("zebra_crossing = 1\n"), ":1: unknown key 'zebra_crossing'");
  EXPECT_EQ(file_error("\n[server]\nport = 80\n"), ":2: unknown key 'server'");
}

TEST(Load, OfSeveralErrorsTheFirstLineIsNamed) {
  EXPECT_EQ(file_error("\nzzz = 1\naaa = 2\n"), ":2: unknown key 'zzz'");
}

TEST(Load, AWrongTypeNamesFileLineAndKey) {
  EXPECT_EQ(file_error("port = \"80\"\n"), ":1: port: expected an integer, got a TOML string");
  EXPECT_EQ(file_error("\nport = 1.5\n"), ":2: port: expected an integer, got a TOML floating-point");
  EXPECT_EQ(file_error("model = 1\n"), ":1: model: expected a string, got a TOML integer");
  EXPECT_EQ(file_error("host = [\"a\"]\n"), ":1: host: expected a string, got a TOML array");
  EXPECT_EQ(file_error("kv_cache_memory = true\n"),
            ":1: kv_cache_memory: expected a size such as \"1GiB\", got a TOML boolean");
}

TEST(Load, AWrongValueNamesFileLineAndKey) {
  EXPECT_EQ(file_error("host = \"::\"\n\nmax_num_seqs = 0\n"),
            ":3: max_num_seqs: must be 1 to 4096, got '0'");
  EXPECT_EQ(file_error("shutdown_grace = \"soon\"\n"),
            ":1: shutdown_grace: expected a time such as 15s, 500ms or 2m, got 'soon'");
  EXPECT_EQ(file_error("port = 9223372036854775807\n"),
            ":1: port: must be 0 to 65535, got '9223372036854775807'");
  EXPECT_NE(file_error("shutdown_grace = nan\n"), "");
  EXPECT_NE(file_error("shutdown_grace = -inf\n"), "");
}

TEST(Load, AFileThatIsNoTomlNamesItsLine) {
  EXPECT_TRUE(file_error("port = 80\nhost = \n").starts_with(":2: ")) << file_error("port = 80\nhost = \n");
  EXPECT_TRUE(file_error("port = 80\nport = 81\n").starts_with(":2: "));
  EXPECT_FALSE(file_error(std::string("\0\xff\xfe", 3)).empty());
  EXPECT_FALSE(file_error(std::string(100'000, '[')).empty());
}

TEST(Load, AnOptionAndItsAliasAreTheSameAndMayNotBothBeSet) {
  for (const option& which : options()) {
    for (const std::string_view alias : which.aliases) {
      const auto [first, second] = two_values(which);
      settings expected;
      ASSERT_TRUE(assign(expected, which, first));
      const std::string line = as_toml(which, first);
      const std::string aliased = std::string(alias) + line.substr(which.name.size());

      const temporary_file file(aliased);
      auto loaded = load_settings({.flags = {}, .environment = {}, .file = file.path()});
      ASSERT_TRUE(loaded) << loaded.error();
      EXPECT_EQ(value_text(loaded->values, which), value_text(expected, which)) << alias;
      loaded = load_settings({.flags = {}, .environment = {{variable_of(alias), first}}, .file = {}});
      ASSERT_TRUE(loaded) << loaded.error();
      EXPECT_EQ(value_text(loaded->values, which), value_text(expected, which)) << alias;

      EXPECT_NE(file_error(line + aliased).find("is set at"), std::string::npos) << alias;
      EXPECT_FALSE(load_settings({.flags = {},
                                  .environment = {{variable_of(alias), first}, {which.variable(), second}},
                                  .file = {}}))
          << alias;
    }
  }
}

TEST(Load, AFileErrorIsToldAlsoWhereAFlagReplacesTheValue) {
  const temporary_file file("port = 70000\n");
  EXPECT_FALSE(load_settings({.flags = {{"port", "80"}}, .environment = {}, .file = file.path()}));
}

TEST(Load, AMissingFileAndAFolderAreErrorsThatNameThem) {
  for (const char* path : {"/nonexistent/troupe.toml", "/tmp"}) {
    const auto loaded = load_settings({.flags = {}, .environment = {}, .file = path});
    ASSERT_FALSE(loaded);
    EXPECT_TRUE(loaded.error().starts_with(std::string(path) + ": cannot be read: ")) << loaded.error();
  }
}

TEST(Load, AHugeFileIsRefused) {
  const std::string message = file_error(std::string((1U << 20U) + 1, '#'));
  EXPECT_EQ(message, ": a configuration file has at most 1MiB");
}

// However deep: whoever reads a key's parts by recursion would end with the stack.
TEST(Load, AKeyWithPartsWithoutEndIsRefused) {
  for (const std::size_t dots : {300, 500'000}) {
    std::string parts;
    for (std::size_t i = 0; i < dots; ++i) parts += ".a";
    for (const std::string& text :
         {"a" + parts + " = 1", "[a" + parts + "]", "x = {a" + parts + " = 1}", "[[a" + parts + "]]"})
      EXPECT_EQ(file_error("# ' \"\nport = 1\n" + text), ":3: a key of more than 256 parts");
  }
  const std::string dots(1000, '.');
  for (const std::string& text : {"'" + dots + "'", "\"\\\"" + dots + "\"", "'''\n'" + dots + "\n'''",
                                  "\"\"\"\n\\\"\"" + dots + "\n\"\"\" # " + dots})
    EXPECT_EQ(file_error("model = " + text + "\nnothing = 1").substr(0, 3),
              text.find('\n') == text.npos ? ":2:" : ":4:")
        << text;
}

TEST(Load, AWrongVariableIsNamed) {
  for (const auto& [variable, text] : {std::pair("TROUPE_PORT", "eighty"),
                                       {"TROUPE_PORT", "http://10.0.0.1:80"},
                                       {"TROUPE_MAX_NUM_SEQS", "tcp://10.0.0.1:80"}}) {
    const auto loaded = load_settings({.flags = {}, .environment = {{variable, text}}, .file = {}});
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error(), std::string(variable) + ": expected an integer, got '" + text + "'");
  }
}

TEST(Load, AVariableOfAPortThatKubernetesHasSetForAServiceIsPassedOverWithAWarning) {
  const auto loaded = load_settings({.flags = {{"port", "8001"}},
                                     .environment = {{"TROUPE_PORT", "tcp://10.96.12.3:8000"},
                                                     {"TROUPE_ADMIN_PORT", "udp://10.96.12.4:9091"},
                                                     {"TROUPE_PROBE_PORT", "8002"}},
                                     .file = {}});
  ASSERT_TRUE(loaded) << loaded.error();
  EXPECT_EQ(loaded->values.port, 8001);
  EXPECT_EQ(loaded->values.admin_port, settings{}.admin_port);
  EXPECT_EQ(loaded->values.probe_port, 8002);
  EXPECT_FALSE(loaded->origins.contains("admin_port"));
  ASSERT_EQ(loaded->warnings.size(), 2U);
  EXPECT_EQ(
      loaded->warnings[0],
      "TROUPE_PORT: 'tcp://10.96.12.3:8000' is the address of a service named troupe, set by Kubernetes or "
      "Docker, and passed over; enableServiceLinks: false in the pod leaves such variables out");
  EXPECT_TRUE(loaded->warnings[1].find("of a service named troupe-admin, ") != std::string::npos)
      << loaded->warnings[1];
}

TEST(Load, WhatKubernetesSetsBesideForServicesOfThisNameIsNoWarning) {
  setting_sources sources;
  for (const std::string name : {"TROUPE", "TROUPE_ADMIN", "TROUPE_CANARY_EU"})
    for (const auto& [end, text] : {std::pair("_SERVICE_HOST", "10.96.12.3"),
                                    {"_SERVICE_PORT", "8000"},
                                    {"_SERVICE_PORT_HTTP", "8000"},
                                    {"_PORT_8000_TCP", "tcp://10.96.12.3:8000"},
                                    {"_PORT_8000_TCP_PROTO", "tcp"},
                                    {"_PORT_8000_TCP_PORT", "8000"},
                                    {"_PORT_53_UDP_ADDR", "10.96.12.3"},
                                    {"_PORT_53_SCTP", "sctp://10.96.12.3:53"}})
      sources.environment.emplace_back(name + end, text);
  sources.environment.emplace_back("TROUPE_CANARY_EU_PORT", "tcp://10.96.12.3:8000");
  auto loaded = load_settings(sources);
  ASSERT_TRUE(loaded) << loaded.error();
  EXPECT_TRUE(loaded->warnings.empty()) << loaded->warnings.front();
  EXPECT_TRUE(loaded->origins.empty());

  sources.environment = {{"TROUPE_CANARY_EU_PORT", "8000"},
                         {"TROUPE_PORT_8000", "1"},
                         {"TROUPE_PORT__TCP", "1"},
                         {"TROUPE_PORT_80_TCP_NAME", "1"},
                         {"TROUPE_SERVICEHOST", "1"}};
  loaded = load_settings(sources);
  ASSERT_TRUE(loaded) << loaded.error();
  EXPECT_EQ(loaded->warnings.size(), sources.environment.size());
}

TEST(Load, AWrongFlagIsNamed) {
  const auto loaded = load_settings({.flags = {{"max_num_seqs", "-1"}}, .environment = {}, .file = {}});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error(),
            "--max-num-seqs: must be 1 to 4096, got '-1' (another name of it: --max-running-requests)");
}

TEST(Load, AnUnknownVariableIsAWarningThatSuggestsAName) {
  const auto loaded = load_settings({.flags = {},
                                     .environment = {{"TROUPE_PROT", "80"},
                                                     {"TROUPE_TEST_LONG", "1"},
                                                     {"PATH", "/bin"},
                                                     {"TROUPE_CONFIG", ""},
                                                     {"TROUPE_ZEBRA_CROSSING", "1"}},
                                     .file = {}});
  ASSERT_TRUE(loaded) << loaded.error();
  ASSERT_EQ(loaded->warnings.size(), 2U);
  EXPECT_EQ(loaded->warnings[0], "TROUPE_PROT: unknown variable, ignored; did you mean TROUPE_PORT?");
  EXPECT_TRUE(loaded->warnings[1].starts_with("TROUPE_ZEBRA_CROSSING: unknown variable, ignored"));
}

TEST(Load, AnEmptyVariableCountsAsUnset) {
  const auto loaded = load_settings({.flags = {}, .environment = {{"TROUPE_PORT", ""}}, .file = {}});
  ASSERT_TRUE(loaded) << loaded.error();
  EXPECT_EQ(loaded->values.port, 8000);
}

TEST(Load, AVariableThatOtherProgramsReadTooGivesWayToTheFileAndToTheOptionsOwn) {
  setting_sources sources{.flags = {}, .environment = {{"OTEL_SERVICE_NAME", "common"}}, .file = {}};
  auto loaded = load_settings(sources);
  ASSERT_TRUE(loaded) << loaded.error();
  EXPECT_EQ(loaded->values.otel_service_name, "common");
  EXPECT_EQ(loaded->origins.at("otel_service_name"), "OTEL_SERVICE_NAME");
  const temporary_file file("otel_service_name = \"of the file\"\n");
  sources.file = file.path();
  loaded = load_settings(sources);
  ASSERT_TRUE(loaded) << loaded.error();
  EXPECT_EQ(loaded->values.otel_service_name, "of the file");
  EXPECT_EQ(loaded->origins.at("otel_service_name"), file.path() + ":1");
  EXPECT_EQ(loaded->overridden,
            std::vector<std::string>{"otel_service_name (OTEL_SERVICE_NAME) by " + file.path() + ":1"});
  sources.environment.insert(sources.environment.begin(), {"TROUPE_OTEL_SERVICE_NAME", "own"});
  loaded = load_settings(sources);
  ASSERT_TRUE(loaded) << loaded.error();
  EXPECT_EQ(loaded->values.otel_service_name, "own");
  EXPECT_EQ(loaded->origins.at("otel_service_name"), "TROUPE_OTEL_SERVICE_NAME");
  sources.environment = {{"OTEL_SERVICE_NAME", ""}};
  EXPECT_EQ(load_settings(sources)->values.otel_service_name, "of the file");
}

TEST(Load, TwoGatewaysCannotShareAPort) {
  const temporary_file file("\ntcp_port = 9000\n");
  const auto loaded = load_settings({.flags = {{"port", "9000"}}, .environment = {}, .file = file.path()});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error(), "--port, " + file.path() + ":2: HTTP and TCP cannot share port 9000");
  EXPECT_TRUE(load_settings({.flags = {{"port", "0"}, {"tcp_port", "0"}}, .environment = {}, .file = {}}));
}

TEST(Load, TheOperatorsPortIsSharedWithNoGateway) {
  const auto loaded = load_settings(
      {.flags = {{"admin_port", "9000"}}, .environment = {{"TROUPE_TCP_PORT", "9000"}}, .file = {}});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error(), "TROUPE_TCP_PORT, --admin-port: TCP and operators cannot share port 9000");
}

TEST(Reference, PrintedSettingsReadBackAsTheSame) {
  auto loaded = load_settings({.flags = {{"model", "a \"quoted\" \\ name"}, {"port", "81"}},
                               .environment = {{"TROUPE_SHUTDOWN_GRACE", "1500ms"}},
                               .file = {}});
  ASSERT_TRUE(loaded) << loaded.error();
  const temporary_file file(settings_toml(*loaded));
  const auto again = load_settings({.flags = {}, .environment = {}, .file = file.path()});
  ASSERT_TRUE(again) << again.error();
  for (const option& which : options()) {
    EXPECT_EQ(value_text(again->values, which), value_text(loaded->values, which)) << which.name;
  }
}

TEST(Reference, TheReadmeHoldsTheMarkdownTable) {
  std::ifstream in(test::source_path("README.md"));
  const std::string readme{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(readme.find(options_markdown()), std::string::npos)
      << "README.md: replace its table by what `troupe config --markdown` prints";
}

TEST(Reference, TheMarkdownTableHasEveryOptionWithItsDefault) {
  const std::string table = options_markdown();
  for (const option& which : options()) {
    EXPECT_NE(table.find("| `" + which.flag() + "`"), std::string::npos);
    EXPECT_NE(table.find(" | `" + which.variable() + "`"), std::string::npos);
    if (!which.common_variable.empty()) {
      EXPECT_NE(table.find("`, `" + std::string(which.common_variable) + "` |"), std::string::npos);
    }
  }
  EXPECT_NE(table.find("| `1GiB` | 1MiB to 16TiB |"), std::string::npos);
  EXPECT_NE(table.find("auto\\|text\\|json"), std::string::npos);
}

}  // namespace
}  // namespace troupe::config
