#include "main/http_get.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <exception>

#include "actors/net/host_field.hpp"

namespace troupe::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr std::uint64_t largest_answer = std::uint64_t{16} << 20U;
constexpr std::chrono::milliseconds look_at_will{50};  // of whoever waits

asio::awaitable<http_answer> ask(const service_url& from, const std::string& path,
                                 std::chrono::milliseconds timeout, const std::string& key) {
  beast::tcp_stream stream(co_await asio::this_coro::executor);
  stream.expires_after(timeout);
  asio::ip::tcp::resolver resolver(stream.get_executor());
  const auto found = co_await resolver.async_resolve(from.host, from.port, asio::use_awaitable);
  co_await stream.async_connect(found, asio::use_awaitable);
  http::request<http::empty_body> request(http::verb::get, from.base + path, 11);
  request.set(http::field::host, net::host_field(from.host, from.port));
  if (!key.empty()) request.set(http::field::authorization, "Bearer " + key);
  request.keep_alive(false);
  co_await http::async_write(stream, request, asio::use_awaitable);
  http::response_parser<http::string_body> parser;
  parser.body_limit(largest_answer);
  beast::flat_buffer buffer;
  co_await http::async_read(stream, buffer, parser, asio::use_awaitable);
  co_return http_answer{static_cast<int>(parser.get().result_int()), std::move(parser.get().body())};
}

}  // namespace

result<http_answer> http_get(const service_url& from, const std::string& path,
                             std::chrono::milliseconds timeout, const std::string& key,
                             const std::function<bool()>& is_given_up) {
  asio::io_context context;
  result<http_answer> answer = fail(error_code::unavailable, "it was given up");
  asio::co_spawn(context, ask(from, path, timeout, key),
                 [&](const std::exception_ptr& fault, http_answer got) {
                   if (!fault) {
                     answer = std::move(got);
                     return;
                   }
                   try {
                     std::rethrow_exception(fault);
                   } catch (const boost::system::system_error& failure) {
                     answer = fail(error_code::unavailable, failure.code().message());
                   } catch (const std::exception& failure) {
                     answer = fail(error_code::unavailable, failure.what());
                   }
                 });
  while (!context.stopped() && !is_given_up()) context.run_for(look_at_will);
  return answer;
}

}  // namespace troupe::cli
