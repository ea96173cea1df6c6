// Training rows as the pair steps read them: y_i x_i with its constant feature, packed so that a row drawn at random
// costs as few cache lines as possible. The weights and the sums behind their average lie in one array of slots.
#pragma once

#include "clones.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <variant>
#include <vector>

namespace steelyard {

constexpr std::size_t kLine = 64; // bytes of a cache line

// Inlined by force: a call to a function that only prefetches has no effect that GCC sees, and is left out.
STEELYARD_INTO_CLONES void prefetch_bytes(const void *at, std::size_t bytes) {
  constexpr std::size_t most = 8 * kLine; // the rest of a long row is a stream that the hardware follows
  for (std::size_t byte = 0; byte < bytes && byte < most; byte += kLine)
    __builtin_prefetch(static_cast<const char *>(at) + byte);
}

// An array from the start of a cache line on: a vector that crosses lines is read back from the store buffer much
// slower. Its values are left as they are, since rows are large.
template <class T> class Aligned {
 public:
  explicit Aligned(std::size_t count) : values_(new T[count + kLine / sizeof(T)]) {
    const std::size_t past = reinterpret_cast<std::uintptr_t>(values_.get()) % kLine;
    first_ = values_.get() + (kLine - past) % kLine / sizeof(T);
  }
  T *data() const { return first_; }

 private:
  std::unique_ptr<T[]> values_;
  T *first_;
};

// Rows of whole vectors. Slots: all weights, then all sums.
template <class T> class DensePairRows {
 public:
  static constexpr std::size_t lanes = 8;

  DensePairRows(std::size_t count, std::size_t width)
      : width_(width), stride_((width + lanes - 1) / lanes * lanes), values_(count * stride_) {}

  // Row i, all zero, to be written.
  T *fresh_row(std::size_t i) {
    T *row = values_.data() + i * stride_;
    std::fill(row, row + stride_, T(0));
    return row;
  }
  const T *row(std::size_t i) const { return values_.data() + i * stride_; }
  std::size_t slots() const { return 2 * stride_; }
  std::size_t weight_slot(std::size_t c) const { return c; }
  std::size_t sum_slot(std::size_t c) const { return stride_ + c; }
  std::size_t width() const { return width_; }

  STEELYARD_INTO_CLONES void prefetch(std::size_t i) const { prefetch_bytes(row(i), stride_ * sizeof(T)); }
  STEELYARD_INTO_CLONES double dot(std::size_t i, const double *slots) const {
    const T *x = row(i);
    double sum[lanes] = {};
    for (std::size_t k = 0; k < stride_; k += lanes)
      for (std::size_t l = 0; l < lanes; ++l)
        sum[l] += static_cast<double>(x[k + l]) * slots[k + l];
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
  }
  STEELYARD_INTO_CLONES void add(std::size_t i, double to_weights, double to_sums, double *__restrict slots) const {
    const T *__restrict x = row(i);
    for (std::size_t k = 0; k < stride_; k += lanes)
      for (std::size_t l = 0; l < lanes; ++l)
        slots[k + l] += to_weights * static_cast<double>(x[k + l]);
    for (std::size_t k = 0; k < stride_; k += lanes)
      for (std::size_t l = 0; l < lanes; ++l)
        slots[stride_ + k + l] += to_sums * static_cast<double>(x[k + l]);
  }

 private:
  std::size_t width_, stride_;
  Aligned<T> values_;
};

// A weight and its sum, changed together; every machine has vectors of two. They may lie in an array of doubles.
using WeightAndSum = double __attribute__((vector_size(16), may_alias));

// Rows as they come, entries of one column in a row are added up; `constant` asks for a last feature of 1. Row i goes
// to `place[i]`: reading in order and writing where it belongs touches fewer lines at random than the other way round.
struct GivenRows {
  const double *values;
  const std::int32_t *columns; // null where the rows are dense
  const std::int64_t *starts;
  std::size_t count, features;
  bool constant;
  const double *sign;
  const std::int32_t *place;

  std::size_t width() const { return features + (constant ? 1 : 0); }
  std::size_t begin(std::size_t i) const { return columns ? static_cast<std::size_t>(starts[i]) : i * features; }
  std::size_t stored() const { return begin(count); }
  std::size_t size(std::size_t i) const { return begin(i + 1) - begin(i); }
  std::size_t place_of(std::size_t i) const { return static_cast<std::size_t>(place[i]); }

  // Calls write(i, place of i) for all rows; lines further on are asked for, since the places jump.
  template <class Rows, class Write> void each(const Rows &rows, const Write &write) const {
    constexpr std::size_t ahead = 12;
    for (std::size_t i = 0; i < count; ++i) {
      if (i + ahead < count)
        rows.prefetch(place_of(i + ahead));
      write(i, place_of(i));
    }
  }
};

// An entry of a sparse row, and one of a row of ones, as presence features are: there the sign is kept apart.
template <class T> struct SlotValue {
  T value;
  std::uint32_t slot;
};
using Slot = std::uint32_t;

// Sparse rows of whole cache lines, at least one, the last filled up: so loops over lines end where the processor
// expects it more often. A filling entry of a row of ones points beyond `beyond_`: it is read without that bit, from
// slots before the weights that stay zero, and written to where nobody reads.
// `__restrict` because aliasing is not strict: what is written never overlaps what is read.
template <class Entry> class SparsePairRows {
 public:
  static constexpr std::size_t group = kLine / sizeof(Entry);

  explicit SparsePairRows(const GivenRows &given)
      : width_(given.width()), starts_(starts_of(given)), entries_((starts_.back() >> 1) * group) {
    while (beyond_ < weight_slot(width_))
      beyond_ *= 2;
    given.each(*this, [&](std::size_t i, std::size_t place) { put(given, i, place); });
  }

  // A weight lies beside its sum.
  std::size_t slots() const { return beyond_ + 2 * group; }
  std::size_t weight_slot(std::size_t c) const { return 2 * (group + c); }
  std::size_t sum_slot(std::size_t c) const { return weight_slot(c) + 1; }
  std::size_t width() const { return width_; }

  // The first and the last line: one more would cost a branch that cannot be foretold.
  STEELYARD_INTO_CLONES void prefetch(std::size_t i) const {
    __builtin_prefetch(begin(i));
    __builtin_prefetch(begin(i + 1) - 1);
  }
  STEELYARD_INTO_CLONES double dot(std::size_t i, const double *slots) const {
    const Entry *__restrict entry = begin(i), *end = begin(i + 1);
    const Slot readable = static_cast<Slot>(beyond_ - 1);
    double sum[4] = {};
    do {
      for (std::size_t l = 0; l < group; ++l)
        if constexpr (of_ones)
          sum[l % 4] += slots[entry[l] & readable];
        else
          sum[l % 4] += static_cast<double>(entry[l].value) * slots[entry[l].slot];
      entry += group;
    } while (entry != end);
    return signed_by(i, WeightAndSum{(sum[0] + sum[1]) + (sum[2] + sum[3]), 0.0})[0];
  }
  STEELYARD_INTO_CLONES void add(std::size_t i, double to_weights, double to_sums, double *__restrict slots) const {
    const Entry *__restrict entry = begin(i), *end = begin(i + 1);
    const WeightAndSum to = signed_by(i, WeightAndSum{to_weights, to_sums});
    do {
      for (std::size_t l = 0; l < group; ++l)
        if constexpr (of_ones)
          *reinterpret_cast<WeightAndSum *>(slots + entry[l]) += to;
        else
          *reinterpret_cast<WeightAndSum *>(slots + entry[l].slot) += to * static_cast<double>(entry[l].value);
      entry += group;
    } while (entry != end);
  }

 private:
  static constexpr bool of_ones = std::is_same_v<Entry, Slot>;

  // Twice the line where each row starts, plus one if its sign is kept here and negative.
  static std::vector<std::uint32_t> starts_of(const GivenRows &given) {
    std::vector<std::uint32_t> starts(given.count + 1);
    for (std::size_t i = 0; i < given.count; ++i) {
      const std::size_t entries = given.size(i) + (given.constant ? 1 : 0);
      const std::size_t lines = entries > group ? (entries + group - 1) / group : 1;
      starts[given.place_of(i)] = 2 * static_cast<std::uint32_t>(lines) + (of_ones && given.sign[i] < 0 ? 1 : 0);
    }
    std::uint32_t line = 0;
    for (std::uint32_t &start : starts) {
      const std::uint32_t lines = start >> 1;
      start = 2 * line + (start & 1);
      line += lines;
    }
    return starts;
  }
  void put(const GivenRows &given, std::size_t i, std::size_t place) {
    const std::size_t size = given.size(i);
    const double sign = given.sign[i], *__restrict values = given.values + given.begin(i);
    const std::int32_t *__restrict columns = given.columns + given.begin(i);
    Entry *__restrict out = entries_.data() + (starts_[place] >> 1) * group;
    Entry *last = entries_.data() + ((starts_[place + 1] >> 1) - 1) * group;
    for (std::size_t l = 0; l < group; ++l) // filled first: how much of it stays could not be foretold
      last[l] = entry(0.0, beyond_ + 2 * l);
    for (std::size_t k = 0; k < size; ++k)
      out[k] = entry(sign * values[k], weight_slot(static_cast<std::size_t>(columns[k])));
    if (given.constant)
      out[size] = entry(sign, weight_slot(width_ - 1));
  }
  static Entry entry(double value, std::size_t slot) {
    if constexpr (of_ones)
      return static_cast<Slot>(slot);
    else
      return {static_cast<decltype(Entry::value)>(value), static_cast<Slot>(slot)};
  }
  const Entry *begin(std::size_t i) const { return entries_.data() + (starts_[i] >> 1) * group; }
  // In vector registers: the way to the others and back takes longer than a product.
  STEELYARD_INTO_CLONES WeightAndSum signed_by(std::size_t i, WeightAndSum x) const {
    if constexpr (!of_ones)
      return x;
    using Bits = std::uint64_t __attribute__((vector_size(16)));
    const std::uint64_t sign_bit = static_cast<std::uint64_t>(starts_[i]) << 63;
    return reinterpret_cast<WeightAndSum>(reinterpret_cast<Bits>(x) ^ Bits{sign_bit, sign_bit});
  }

  std::size_t width_, beyond_ = 1;
  std::vector<std::uint32_t> starts_;
  Aligned<Entry> entries_;
};

template <class T> DensePairRows<T> dense_pair_rows(const GivenRows &given) {
  DensePairRows<T> rows(given.count, given.width());
  given.each(rows, [&](std::size_t i, std::size_t place) {
    const double sign = given.sign[i], *__restrict values = given.values + given.begin(i);
    const std::size_t size = given.size(i);
    T *__restrict row = rows.fresh_row(place);
    if (given.columns) {
      const std::int32_t *__restrict columns = given.columns + given.begin(i);
      for (std::size_t k = 0; k < size; ++k)
        row[columns[k]] += static_cast<T>(sign * values[k]);
    } else {
      for (std::size_t k = 0; k < size; ++k)
        row[k] = static_cast<T>(sign * values[k]);
    }
    if (given.constant)
      row[given.features] = static_cast<T>(sign);
  });
  return rows;
}

using PairRows = std::variant<DensePairRows<float>, DensePairRows<double>, SparsePairRows<Slot>,
                              SparsePairRows<SlotValue<float>>, SparsePairRows<SlotValue<double>>>;

template <class T> PairRows pair_rows_in(const GivenRows &given) {
  if (!given.columns || 2 * given.stored() > given.count * given.features)
    return dense_pair_rows<T>(given); // from half full on: whole vectors are quicker than single entries
  return SparsePairRows<SlotValue<T>>(given);
}

// True if a test of two values at a time holds for all of them; counts, and looks at the count now and then only.
using TwoValues = double __attribute__((vector_size(16), aligned(8), may_alias));

template <class Holds> bool all_hold(const double *values, std::size_t count, const Holds &holds) {
  constexpr std::size_t piece = 1024;
  const TwoValues none = {0.0, 0.0}, one = {1.0, 1.0};
  for (std::size_t start = 0; start < count; start += piece) {
    const std::size_t size = std::min(piece, count - start), last = start + size - 1;
    TwoValues failed =
        holds(TwoValues{values[last], values[last]}) ? none : one; // the one left over where the size is odd
    for (std::size_t k = start; k < last; k += 2)
      failed += holds(*reinterpret_cast<const TwoValues *>(values + k)) ? none : one;
    if (failed[0] + failed[1] > 0.0)
      return false;
  }
  return true;
}

// The form that is read fastest. Half the bytes are worth more to rough steps than digits beyond the seventh; values
// that single precision cannot hold stay double.
inline PairRows pair_rows(const GivenRows &given) {
  if (given.columns && all_hold(given.values, given.stored(), [](TwoValues v) { return v == 1.0; }))
    return SparsePairRows<Slot>(given);
  const bool single = all_hold(given.values, given.stored(), [](TwoValues v) {
    const TwoValues size = v < 0.0 ? -v : v;
    return (v == 0.0) | ((size > 1e-30) & (size < 1e30));
  });
  return single ? pair_rows_in<float>(given) : pair_rows_in<double>(given);
}

} // namespace steelyard
