// How a long loop can be stopped from outside: by a signal such as Ctrl-C, or at a deadline. The loop says how much it
// has done; about every 50 ms the thread looks whether it should go on, and an exception unwinds the loop if not.
// Whoever calls a loop leaves everything as it was before, or owns all that the loop had started to change.
#pragma once

#include <chrono>
#include <cstddef>
#include <stdexcept>

namespace steelyard {

struct DeadlineReached : std::runtime_error {
  DeadlineReached() : std::runtime_error("the deadline of this thread has passed") {}
};

class Pulse {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t between_looks = std::size_t{1} << 17; // units of work: some 50 us

  // Throws if the process must stop. Set once, by the module; null for none.
  inline static void (*check_signals)() = nullptr;

  // Of the calling thread; Clock::time_point::max() for none.
  static Clock::time_point &deadline() {
    static thread_local Clock::time_point at = Clock::time_point::max();
    return at;
  }

  // Throws if the process must stop or the deadline of the thread has passed.
  static void check() {
    if (Clock::now() >= deadline())
      throw DeadlineReached();
    if (check_signals)
      check_signals();
  }

  // `work` counts numbers read and added up, roughly. Cheap enough for every round of about a thousand of them.
  void spend(std::size_t work) {
    if (work < left_)
      left_ -= work;
    else
      look();
  }

 private:
  __attribute__((noinline)) void look() {
    static thread_local Clock::time_point next{};
    left_ = between_looks;
    const Clock::time_point now = Clock::now();
    if (now >= deadline())
      throw DeadlineReached();
    if (now < next)
      return;
    next = now + std::chrono::milliseconds(50);
    if (check_signals)
      check_signals();
  }

  std::size_t left_ = between_looks;
};

} // namespace steelyard
