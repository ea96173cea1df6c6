// Poisson bootstrap of a confusion table: every row counts 0, 1, 2, .. times in every replicate, by a draw that depends
// on the seed, the part, the row and the replicate alone, so tables of parts add up. Twin in
// tests/unit/scale/test_score.py.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "pulse.hpp"
#include "step.hpp"

namespace steelyard {

// How often a row counts: the Poisson distribution of mean 1, by its distribution function.
inline std::size_t poisson_one(double uniform) {
  constexpr double up_to[] = {0.36787944117144233, 0.7357588823428847, 0.9196986029286058, 0.9810118431238462,
                              0.9963401531726563,  0.9994058151824183, 0.999916758850712,  0.9999897508033253,
                              0.999998874797402,   0.9999998885745217, 0.9999999899522336, 0.9999999991683892};
  std::size_t count = 0;
  while (count < sizeof up_to / sizeof *up_to && uniform >= up_to[count])
    ++count;
  return count;
}

// Which stream of draws belongs to a replicate of a part.
inline std::uint64_t replicate_seed(std::uint64_t seed, std::uint64_t part, std::uint64_t replicate) {
  return seed * 0x9e3779b97f4a7c15u + part * 0xbf58476d1ce4e5b9u + replicate;
}

// A sum with what its rounding lost (Neumaier), so that sums of parts keep their digits.
inline void add_compensated(double &sum, double &lost, double term) {
  const double total = sum + term;
  lost += std::abs(sum) >= std::abs(term) ? (sum - total) + term : (term - total) + sum;
  sum = total;
}

// sum[r * cells + cell[i]] += cost[i] times how often row first + i counts in replicate r, `lost` beside it.
inline void poisson_costs(const std::int64_t *cell, const double *cost, std::size_t n, std::size_t cells,
                          std::uint64_t seed, std::uint64_t part, std::uint64_t first, std::size_t replicates,
                          double *sum, double *lost) {
  Pulse pulse;
  for (std::size_t r = 0; r < replicates; ++r) {
    const std::uint64_t own = replicate_seed(seed, part, r);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t place = r * cells + static_cast<std::size_t>(cell[i]);
      add_compensated(sum[place], lost[place], cost[i] * static_cast<double>(poisson_one(draw(own, first + i))));
    }
    pulse.spend(4 * n);
  }
}

// table[r * cells + cell[i]] += how often row first + i counts in replicate r.
inline void poisson_tables(const std::int64_t *cell, std::size_t n, std::size_t cells, std::uint64_t seed,
                           std::uint64_t part, std::uint64_t first, std::size_t replicates, std::int64_t *table) {
  Pulse pulse;
  for (std::size_t r = 0; r < replicates; ++r) {
    const std::uint64_t own = replicate_seed(seed, part, r);
    for (std::size_t i = 0; i < n; ++i) {
      std::int64_t &place = table[r * cells + static_cast<std::size_t>(cell[i])];
      // Unsigned, since a table that is full already may be handed in: it wraps instead of being undefined.
      place = static_cast<std::int64_t>(static_cast<std::uint64_t>(place) + poisson_one(draw(own, first + i)));
    }
    pulse.spend(4 * n);
  }
}

} // namespace steelyard
