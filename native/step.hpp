// What the rules of online learning may look at and what they answer. Paper 001, Algorithm 1.
#pragma once

#include <cstdint>

namespace steelyard {

// All that an update rule may look at: the score before the update, the truth (+1 or -1), the cost of a mistake on
// this example, and the squared norms of the example and of the weights.
struct UpdateInput {
  double score, y, cost, x2, w2;
  double margin() const { return y * score; }
};

// w <- keep * w + add * x;  b <- keep * b + shift.
struct Step {
  double keep = 1.0, add = 0.0, shift = 0.0;
};

// All that an update rule may look at for one class of many. Margins are on the scale of the binary learner, twice that
// of the costs, so that with two classes every rule takes the step it takes there.
struct ClassInput {
  double margin; // how far the class falls short of a margin as large as the costs say
  double share;  // the same with the costs of the row divided by their range, where the largest margin is 1
  double range;  // highest minus lowest cost of the row
  double x2;
};

// All that a query rule may look at, before the label is known: the score, whether the prediction is positive, and the
// round.
struct QueryInput {
  double score;
  bool positive;
  std::uint64_t t;
};

// The uniform number of round t in [0, 1): a pure function, so that replay needs no generator state and one pass equals
// row by row. Two rounds of the SplitMix64 finaliser over seed and round.
inline std::uint64_t mixed(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// The same where `mixed(seed)`, the half that all rounds share, is at hand.
inline double draw_from(std::uint64_t mixed_seed, std::uint64_t t) {
  return static_cast<double>(mixed(mixed_seed ^ t) >> 11) * 0x1.0p-53;
}

inline double draw(std::uint64_t seed, std::uint64_t t) { return draw_from(mixed(seed), t); }

} // namespace steelyard
