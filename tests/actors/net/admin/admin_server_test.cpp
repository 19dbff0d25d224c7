#include "actors/net/admin/admin_server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "actors/net/key_digest.hpp"
#include "tests/actors/net/captured_log_fixture.hpp"
#include "tests/actors/net/raw_client_fixture.hpp"

namespace troupe::net {
namespace {

using nlohmann::json;
using testing::raw_client;

const std::string key = "the-right-key-0123456789";

company_report small_company() {
  company_report report{.status = "ready", .supervisor = {.state = actor_state::running}, .tree = {}};
  report.tree.name = "company";
  report.tree.group = group_report{"one_for_one", 5, std::chrono::seconds(60), 1};
  actor_report busy{.state = actor_state::running, .restarts = 2, .is_busy = true, .mailbox = 3};
  busy.last_message = std::chrono::milliseconds(250);
  busy.handled = {{"run_step", 7}};
  report.tree.members = {{"model_runner", std::nullopt, busy, {}},
                         {"kv_cache", std::nullopt, {.state = actor_state::starting}, {}}};
  return report;
}

class scripted_admin : public operator_commands {
 public:
  bool is_key(std::string_view text) const override { return digest_.matches(text); }
  void describe(std::function<void(result<company_report>)> reply) override {
    if (is_silent) return;
    std::thread([reply = std::move(reply)] { reply(small_company()); }).detach();
  }
  drain_order drain(std::optional<std::chrono::milliseconds> grace) override {
    return {grace.value_or(std::chrono::seconds(15)), ++drains == 1};
  }
  result<std::string> set_log_level(const std::string& level) override {
    if (level == "loud") return fail(error_code::invalid_argument, "no such level", "level");
    return std::string("info");
  }

  void reload(std::function<void(const result<new_settings_report>&)> reply) override {
    if (is_silent) return;
    std::thread([reply = std::move(reply), outcome = reload_outcome] { reply(outcome); }).detach();
  }

  std::atomic<int> drains = 0;
  std::atomic<bool> is_silent = false;  // no reply ever comes
  result<new_settings_report> reload_outcome;

 private:
  key_digest digest_{key};
};

std::string bearer(const std::string& secret = key) { return "Authorization: Bearer " + secret + "\r\n"; }

testing::raw_answer ask(raw_client& client, const std::string& method, const std::string& path,
                        const std::string& headers) {
  EXPECT_TRUE(client.send(method + " " + path + " HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n"));
  return client.read_answer(method == "HEAD");
}

class AdminServer : public ::testing::Test {
 protected:
  AdminServer() : server(*admin_server::start({}, service)), client(server.port()) {}

  testing::raw_answer ask(const std::string& method, const std::string& path, const std::string& headers) {
    return net::ask(client, method, path, headers);
  }

  scripted_admin service;
  admin_server server;
  raw_client client;
};

TEST_F(AdminServer, NothingIsToldToWhoHasNoKeyNotEvenWhatThereIs) {
  for (const std::string& header :
       {std::string(), bearer("the-wrong-key-0123456789"), bearer(""), bearer(key + "x"),
        bearer(key.substr(1)), "Authorization: " + key + "\r\n", "Authorization: Basic " + key + "\r\n",
        std::string("X-Key: ") + key + "\r\n"}) {
    for (const char* path : {"/admin/actors", "/admin/drain", "/", "/nothing", "/metrics"}) {
      raw_client stranger(server.port());
      const auto answer = net::ask(stranger, "GET", path, header);
      EXPECT_EQ(answer.status, 401) << header << path;
      EXPECT_TRUE(answer.headers.at("www-authenticate").starts_with("Bearer"));
      EXPECT_EQ(json::parse(answer.body)["error"]["code"], "invalid_api_key");
      EXPECT_EQ(answer.body.find("/admin"), std::string::npos);
    }
  }
  EXPECT_EQ(raw_client(server.port()).post("/admin/drain", "{}").status, 401);
  EXPECT_EQ(service.drains, 0);
}

TEST_F(AdminServer, AStrangersConnectionEndsWithItsRefusal) {
  const auto refusal = ask("GET", "/admin/actors", "");
  EXPECT_EQ(refusal.status, 401);
  EXPECT_EQ(refusal.headers.at("connection"), "close");
  EXPECT_TRUE(client.at_end());
  raw_client operators(server.port());
  EXPECT_EQ(net::ask(operators, "GET", "/admin/actors", bearer()).status, 200);
  EXPECT_EQ(net::ask(operators, "GET", "/admin/actors", bearer("a-key-of-yesterday")).status, 401);
  EXPECT_TRUE(operators.at_end()) << "having had the right key once is not having it";
}

TEST(AdminServerWithPlacesForTwo, StrangersWhoSayNothingOrHalfARequestDoNotKeepOperatorsOut) {
  scripted_admin service;
  admin_options options;
  options.limits.max_connections = 2;
  options.stranger_timeout = std::chrono::milliseconds(50);
  const auto server = *admin_server::start(options, service);
  raw_client known(server.port());
  ASSERT_EQ(ask(known, "GET", "/admin/actors", bearer()).status, 200);
  for (const char* words : {"", "GET /admin/actors HTTP/1.1\r\nHost"}) {
    raw_client stranger(server.port());
    ASSERT_TRUE(stranger.send(words));
    EXPECT_TRUE(stranger.at_end()) << words;
  }
  EXPECT_EQ(ask(known, "GET", "/admin/actors", bearer()).status, 200) << "who has the key has time";
}

TEST(AdminServerWithPlacesForTwo, StrangersGiveWayToWhoComesLaterAndOperatorsToNobody) {
  scripted_admin service;
  admin_options options;
  options.limits.max_connections = 2;
  options.stranger_timeout = std::chrono::hours(1);
  const auto server = *admin_server::start(options, service);
  raw_client silent(server.port());
  raw_client half(server.port());
  ASSERT_TRUE(half.send("GET /admin/actors HTTP/1.1\r\nHost"));
  raw_client known(server.port());
  EXPECT_EQ(ask(known, "GET", "/admin/actors", bearer()).status, 200);
  EXPECT_TRUE(silent.at_end()) << "it was there first";
  for (int i = 0; i < 100; ++i) {
    raw_client stranger(server.port());
    EXPECT_EQ(ask(stranger, "GET", "/admin/actors", "").status, 401);
    EXPECT_EQ(ask(known, "GET", "/admin/actors", bearer()).status, 200);
  }
  EXPECT_TRUE(half.at_end());
  raw_client second(server.port());
  EXPECT_EQ(ask(second, "GET", "/admin/actors", bearer()).status, 200);
  raw_client beyond(server.port());
  EXPECT_EQ(ask(beyond, "GET", "/admin/actors", bearer()).status, 503) << "operators have both places";
  EXPECT_EQ(ask(second, "GET", "/admin/actors", bearer()).status, 200);
}

TEST_F(AdminServer, TheSchemesNameMayBeWrittenAnyhow) {
  EXPECT_EQ(ask("GET", "/admin/actors", "authorization: bearer   " + key + "\r\n").status, 200);
}

TEST_F(AdminServer, UnknownPathsAndMethodsAreToldToWhoHasTheKey) {
  const auto unknown = ask("GET", "/admin/nothing", bearer());
  EXPECT_EQ(unknown.status, 404);
  EXPECT_NE(unknown.body.find("/admin/actors"), std::string::npos);
  const auto read = ask("GET", "/admin/drain", bearer());
  EXPECT_EQ(read.status, 405);
  EXPECT_EQ(read.headers.at("allow"), "POST");
  const auto written = client.post("/admin/actors", "{}", bearer());
  EXPECT_EQ(written.status, 405);
  EXPECT_EQ(written.headers.at("allow"), "GET, HEAD");
  EXPECT_EQ(service.drains, 0);
}

TEST_F(AdminServer, TheTreeIsToldAsJson) {
  const auto answer = ask("GET", "/admin/actors", bearer());
  ASSERT_EQ(answer.status, 200);
  const json body = json::parse(answer.body);
  EXPECT_EQ(body["status"], "ready");
  EXPECT_EQ(body["supervisor"]["state"], "running");
  const json& tree = body["tree"];
  EXPECT_EQ(tree["name"], "company");
  EXPECT_EQ(tree["strategy"], "one_for_one");
  EXPECT_EQ(tree["intensity"], json::parse(R"({"restarts":5,"period_seconds":60})"));
  EXPECT_EQ(tree["recent_restarts"], 1);
  EXPECT_EQ(tree["members"][0],
            json::parse(R"({"name":"model_runner","state":"running","busy":true,"mailbox":3,
    "restarts":2,"last_message_age_seconds":0.25,"handled":{"run_step":7}})"));
  EXPECT_EQ(tree["members"][1]["state"], "starting");
  EXPECT_TRUE(tree["members"][1]["last_message_age_seconds"].is_null());
  EXPECT_EQ(ask("HEAD", "/admin/actors", bearer()).status, 200);
  EXPECT_EQ(ask("GET", "/admin/actors?x=1", bearer()).status, 200) << "nothing of a body may follow a HEAD";
}

TEST_F(AdminServer, ADrainIsAcceptedAndSaysHowLongRequestsMayGoOn) {
  const auto usual = client.post("/admin/drain", "", bearer());
  EXPECT_EQ(usual.status, 202);
  EXPECT_EQ(json::parse(usual.body)["grace_seconds"], 15);
  const auto own = client.post("/admin/drain", R"({"grace": 2.5})", bearer());
  EXPECT_EQ(own.status, 202);
  EXPECT_EQ(json::parse(own.body)["grace_seconds"], 2.5);
  EXPECT_EQ(json::parse(own.body)["status"], "draining");
  const std::string already = "the service was ending already, and this changes nothing";
  EXPECT_EQ(json::parse(usual.body)["message"].get<std::string>().find(already), std::string::npos);
  EXPECT_EQ(json::parse(own.body)["message"].get<std::string>().find(already), 0U);
  EXPECT_EQ(service.drains, 2);
  for (const char* bad :
       {R"({"grace": -1})", R"({"grace": "5"})", R"({"grace": 1e9})", R"({"grcae": 1})", "[]", "{"})
    EXPECT_EQ(client.post("/admin/drain", bad, bearer()).status, 400) << bad;
  EXPECT_EQ(service.drains, 2);
}

TEST_F(AdminServer, TheLogLevelIsSetAndToldWithTheOneBefore) {
  const auto set = client.post("/admin/log-level", R"({"level":"debug"})", bearer());
  EXPECT_EQ(set.status, 200);
  EXPECT_EQ(json::parse(set.body), json::parse(R"({"level":"debug","before":"info"})"));
  for (const char* bad : {R"({"level":"loud"})", R"({"level":3})", "{}", ""}) {
    const auto refused = client.post("/admin/log-level", bad, bearer());
    EXPECT_EQ(refused.status, 400) << bad;
    EXPECT_EQ(json::parse(refused.body)["error"]["param"], "level");
  }
}

TEST_F(AdminServer, AReloadTellsWhatHasChangedOrWhyNothingHas) {
  service.reload_outcome = new_settings_report{{{"max_num_seqs", "64", "8"}, {"admin_key", {}, {}}},
                                               {"port (troupe.toml:1) by --port"},
                                               {"unknown variable TROUPE_PROT"}};
  const auto done = client.post("/admin/reload", "", bearer());
  EXPECT_EQ(done.status, 200);
  EXPECT_EQ(json::parse(done.body), json::parse(R"({"status":"reloaded","changes":[
    {"setting":"max_num_seqs","before":"64","after":"8"},{"setting":"admin_key","before":null,"after":null}],
    "overridden":["port (troupe.toml:1) by --port"],"warnings":["unknown variable TROUPE_PROT"]})"));
  service.reload_outcome = fail(error_code::invalid_argument, "troupe.toml:3: port: 1 -> 2 needs a restart");
  const auto refused = client.post("/admin/reload", "{}", bearer());
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(json::parse(refused.body)["error"]["message"], "troupe.toml:3: port: 1 -> 2 needs a restart");
  EXPECT_EQ(client.post("/admin/reload", R"({"max_num_seqs":3})", bearer()).status, 400);
}

TEST(AdminServerOfASilentService, SaysOfAReloadThatNobodyKnowsAndOfTheRestThatNothingCame) {
  scripted_admin service;
  service.is_silent = true;
  admin_options options;
  options.reply_timeout = std::chrono::milliseconds(50);
  const auto server = *admin_server::start(options, service);
  raw_client client(server.port());
  const auto reload = client.post("/admin/reload", "", bearer());
  EXPECT_EQ(reload.status, 202) << "it may be taken up yet";
  EXPECT_EQ(json::parse(reload.body)["status"], "reloading");
  EXPECT_NE(reload.body.find("the log will tell"), std::string::npos);
  const auto actors = ask(client, "GET", "/admin/actors", bearer());
  EXPECT_EQ(actors.status, 503);
  EXPECT_EQ(json::parse(actors.body)["error"]["message"], "the supervisor does not answer");
}

TEST_F(AdminServer, WhatIsNoRequestOrTooLargeIsRefused) {
  EXPECT_EQ(client.post("/admin/drain", std::string(70'000, ' '), bearer()).status, 413);
  raw_client header(server.port());
  ASSERT_TRUE(header.send("GET / HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n"));
  EXPECT_EQ(header.read_answer().status, 431);
  raw_client noise(server.port());
  ASSERT_TRUE(noise.send("\x16\x03\x01 hello\r\n\r\n"));
  EXPECT_EQ(noise.read_answer().status, 400);
  raw_client other(server.port());
  ASSERT_TRUE(other.send("POST /admin/drain HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n" +
                         bearer() + "\r\n{}"));
  EXPECT_EQ(other.read_answer().status, 415);
  for (const auto& [field, status] : {std::pair{"Content-Encoding: gzip\r\n", 415}, {"Expect: x\r\n", 417}}) {
    raw_client odd(server.port());
    EXPECT_EQ(odd.post("/admin/drain", "{}", bearer() + field).status, status) << "as on the clients' port";
  }
  raw_client version(server.port());
  ASSERT_TRUE(version.send("GET /admin/actors HTTP/3.0\r\n" + bearer() + "\r\n"));
  EXPECT_EQ(version.read_answer().status, 505);
  EXPECT_EQ(service.drains, 0);
}

TEST_F(AdminServer, AKeyIsNeverLoggedAndStrangersAreOneLine) {
  const testing::captured_log log;
  for (int i = 0; i < 20; ++i) {
    raw_client stranger(server.port());
    net::ask(stranger, "GET", "/admin/actors", bearer("a-guess-" + std::to_string(i)));
  }
  raw_client known(server.port());
  net::ask(known, "GET", "/admin/actors", bearer());
  EXPECT_EQ(log.lines(),
            std::vector<std::string>{
                "warning operators' port: a request without the right key, the last from 127.0.0.1"});
}

TEST(KeyDigest, KnowsItsKeyAndNoOther) {
  const key_digest digest(key);
  EXPECT_TRUE(digest.matches(key));
  EXPECT_FALSE(digest.matches(""));
  std::string other = key;
  for (char& c : other) {
    const char kept = std::exchange(c, static_cast<char>(c ^ 1));
    EXPECT_FALSE(digest.matches(other));
    c = kept;
  }
  EXPECT_FALSE(digest.matches(key + key));
}

TEST(KeyDigest, KeepsNothingOfTheKeyAndIsAnotherEachTime) {
  const key_digest first(key);
  const key_digest second(key);
  const auto bytes = [](const key_digest& digest) {
    return std::string(reinterpret_cast<const char*>(&digest), sizeof digest);
  };
  EXPECT_EQ(bytes(first).find(key.substr(0, 8)), std::string::npos);
  EXPECT_NE(bytes(first), bytes(second));
}

}  // namespace
}  // namespace troupe::net
