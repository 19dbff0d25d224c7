// The few names of Boost.Asio that this folder uses.
#pragma once
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace troupe::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using asio_error = boost::system::error_code;

// auto [error, ...] = co_await operation(..., no_throw);
inline constexpr auto no_throw = asio::as_tuple(asio::use_awaitable);

}  // namespace troupe::net
