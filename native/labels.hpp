// Two kinds of labels, separated in one pass: a stream of short rows is read about as fast as its labels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "clones.hpp"

namespace steelyard {

// Where the first label unlike y[0] stands, 0 if there is none, -1 if there are more than two kinds. `other` tells for
// every label whether it is unlike y[0].
STEELYARD_CLONES static std::int64_t tell_apart(const std::int64_t *y, std::size_t n, bool *other) {
  std::size_t at = 0;
  while (at < n && y[at] == y[0])
    ++at;
  if (at == n)
    at = 0;
  const std::uint64_t first = n > 0 ? static_cast<std::uint64_t>(y[0]) : 0;
  const std::uint64_t apart = n > 0 ? first ^ static_cast<std::uint64_t>(y[at]) : 0;
  std::uint64_t third = 0; // as wide as a label, or the loop would be narrow
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t unlike = first ^ static_cast<std::uint64_t>(y[i]);
    other[i] = unlike != 0;
    third |= (unlike != 0) & (unlike != apart);
  }
  return third != 0 ? -1 : static_cast<std::int64_t>(at);
}

} // namespace steelyard
