// Training rows as the pair steps read them: y_i x_i with its constant feature, packed so that a row drawn at random
// costs as few cache lines as possible. The weights and the sums behind their average lie in one array of slots.
#pragma once

#include "clones.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

namespace steelyard {

constexpr std::size_t kLine = 64; // bytes of a cache line

inline void prefetch_bytes(const void *at, std::size_t bytes) {
  constexpr std::size_t most = 8 * kLine; // the rest of a long row is a stream that the hardware follows
  for (std::size_t byte = 0; byte < bytes && byte < most; byte += kLine)
    __builtin_prefetch(static_cast<const char *>(at) + byte);
}

// Zeros from the start of a cache line on: a vector that crosses lines is read back from the store buffer much slower.
class AlignedSlots {
 public:
  explicit AlignedSlots(std::size_t count) : values_(count + kLine / sizeof(double)) {
    const std::size_t past = reinterpret_cast<std::uintptr_t>(values_.data()) % kLine;
    first_ = (kLine - past) % kLine / sizeof(double);
  }
  double *data() { return values_.data() + first_; }

 private:
  std::vector<double> values_;
  std::size_t first_;
};

// Rows of whole vectors. Slots: all weights, then all sums.
template <class T> class DensePairRows {
 public:
  static constexpr std::size_t lanes = 8;

  DensePairRows(std::size_t count, std::size_t width)
      : width_(width), stride_((width + lanes - 1) / lanes * lanes),
        values_(new T[count * stride_ + kLine / sizeof(T)]) {
    const std::size_t past = reinterpret_cast<std::uintptr_t>(values_.get()) % kLine;
    first_ = values_.get() + (kLine - past) % kLine / sizeof(T);
  }

  // Row i, all zero, to be written.
  T *fresh_row(std::size_t i) {
    T *row = first_ + i * stride_;
    std::fill(row, row + stride_, T(0));
    return row;
  }
  const T *row(std::size_t i) const { return first_ + i * stride_; }
  std::size_t slots() const { return 2 * stride_; }
  std::size_t weight_slot(std::size_t c) const { return c; }
  std::size_t sum_slot(std::size_t c) const { return stride_ + c; }
  std::size_t width() const { return width_; }

  void prefetch(std::size_t i) const { prefetch_bytes(row(i), stride_ * sizeof(T)); }
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
  std::unique_ptr<T[]> values_; // not set to zero first: these are large
  T *first_;
};

// A weight and its sum, changed together; every machine has vectors of two. They may lie in an array of doubles.
using WeightAndSum = double __attribute__((vector_size(16), may_alias));

// A sparse row to be packed. `__restrict` here and below because aliasing is not strict: what is written never overlaps
// what is read.
struct GivenRow {
  const double *__restrict values;
  const std::int32_t *__restrict columns;
  std::size_t size;
  double sign;
  bool constant; // asks for a last entry of 1
};

// Sparse rows have whole groups of entries, the last filled up with entries that point behind the weights: loops over
// groups end where the processor expects it more often. A weight lies beside its sum.
class SparseSlots {
 public:
  static constexpr std::size_t group = 4;

  SparseSlots(std::size_t count, std::size_t width) : width_(width), starts_(count + 1) {}
  std::size_t slots() const { return 2 * (width_ + group); }
  std::size_t weight_slot(std::size_t c) const { return 2 * c; }
  std::size_t sum_slot(std::size_t c) const { return 2 * c + 1; }
  std::size_t width() const { return width_; }
  void finish() { starts_.back() = stored_; }

 protected:
  std::size_t start_row(std::size_t i) { return starts_[i] = stored_; }
  static std::uint32_t slot_of(std::int32_t column) { return 2 * static_cast<std::uint32_t>(column); }
  std::uint32_t last_slot() const { return static_cast<std::uint32_t>(2 * width_ - 2); }
  // Each place of a group has its own: adding twice in a row to the same would wait for the first.
  std::uint32_t no_slot(std::size_t place) const { return static_cast<std::uint32_t>(2 * (width_ + place % group)); }
  STEELYARD_INTO_CLONES static WeightAndSum &both(double *slots, std::uint32_t slot) {
    return *reinterpret_cast<WeightAndSum *>(slots + slot);
  }
  STEELYARD_INTO_CLONES static double total(const double *sum) { return (sum[0] + sum[1]) + (sum[2] + sum[3]); }

  std::size_t width_, stored_ = 0;
  std::vector<std::size_t> starts_;
};

// Entries of value and slot.
template <class T> class SparsePairRows : public SparseSlots {
 public:
  struct Entry {
    T value;
    std::uint32_t slot;
  };

  SparsePairRows(std::size_t count, std::size_t width, std::size_t stored)
      : SparseSlots(count, width), entries_(new Entry[stored + group * count]) {}

  void put(std::size_t i, const GivenRow &given) {
    Entry *__restrict out = entries_.get() + start_row(i);
    std::size_t n = 0;
    for (; n < given.size; ++n)
      out[n] = {static_cast<T>(given.sign * given.values[n]), slot_of(given.columns[n])};
    if (given.constant)
      out[n++] = {static_cast<T>(given.sign), last_slot()};
    for (; n % group != 0; ++n)
      out[n] = {T(0), no_slot(n)};
    stored_ += n;
  }
  void prefetch(std::size_t i) const {
    prefetch_bytes(begin(i), static_cast<std::size_t>(begin(i + 1) - begin(i)) * sizeof(Entry));
  }
  STEELYARD_INTO_CLONES double dot(std::size_t i, const double *slots) const {
    double sum[group] = {};
    for (const Entry *__restrict entry = begin(i), *end = begin(i + 1); entry != end; entry += group)
      for (std::size_t l = 0; l < group; ++l)
        sum[l] += static_cast<double>(entry[l].value) * slots[entry[l].slot];
    return total(sum);
  }
  STEELYARD_INTO_CLONES void add(std::size_t i, double to_weights, double to_sums, double *__restrict slots) const {
    const WeightAndSum to = {to_weights, to_sums};
    for (const Entry *__restrict entry = begin(i), *end = begin(i + 1); entry != end; entry += group)
      for (std::size_t l = 0; l < group; ++l)
        both(slots, entry[l].slot) += to * static_cast<double>(entry[l].value);
  }

 private:
  const Entry *begin(std::size_t i) const { return entries_.get() + starts_[i]; }

  std::unique_ptr<Entry[]> entries_;
};

// Rows of ones, as presence features are: slots only, and y_i apart.
class UnitPairRows : public SparseSlots {
 public:
  UnitPairRows(std::size_t count, std::size_t width, std::size_t stored)
      : SparseSlots(count, width), slots_(new std::uint32_t[stored + group * count]) {
    sign_.reserve(count);
  }

  void put(std::size_t i, const GivenRow &given) {
    std::uint32_t *__restrict out = slots_.get() + start_row(i);
    std::size_t n = 0;
    for (; n < given.size; ++n)
      out[n] = slot_of(given.columns[n]);
    if (given.constant)
      out[n++] = last_slot();
    for (; n % group != 0; ++n)
      out[n] = no_slot(n);
    stored_ += n;
    sign_.push_back(given.sign);
  }
  void prefetch(std::size_t i) const {
    prefetch_bytes(begin(i), static_cast<std::size_t>(begin(i + 1) - begin(i)) * sizeof(std::uint32_t));
  }
  STEELYARD_INTO_CLONES double dot(std::size_t i, const double *slots) const {
    double sum[group] = {};
    for (const std::uint32_t *__restrict slot = begin(i), *end = begin(i + 1); slot != end; slot += group)
      for (std::size_t l = 0; l < group; ++l)
        sum[l] += slots[slot[l]];
    return sign_[i] * total(sum);
  }
  STEELYARD_INTO_CLONES void add(std::size_t i, double to_weights, double to_sums, double *__restrict slots) const {
    const WeightAndSum to = {sign_[i] * to_weights, sign_[i] * to_sums};
    for (const std::uint32_t *__restrict slot = begin(i), *end = begin(i + 1); slot != end; slot += group)
      for (std::size_t l = 0; l < group; ++l)
        both(slots, slot[l]) += to;
    std::fill_n(slots + 2 * width_, 2 * group, 0.0); // what the filling has left there
  }

 private:
  const std::uint32_t *begin(std::size_t i) const { return slots_.get() + starts_[i]; }

  std::vector<double> sign_;
  std::unique_ptr<std::uint32_t[]> slots_;
};

// Rows as they come, entries of one column in a row are added up; `constant` asks for a last feature of 1. They are
// packed in the order given.
struct GivenRows {
  const double *values;
  const std::int32_t *columns; // null where the rows are dense
  const std::int64_t *starts;
  std::size_t count, features;
  bool constant;
  const double *sign;
  const std::int32_t *order;

  std::size_t width() const { return features + (constant ? 1 : 0); }
  std::size_t begin(std::size_t i) const { return columns ? static_cast<std::size_t>(starts[i]) : i * features; }
  std::size_t stored() const { return begin(count); }
  // The k-th row to pack; one further on is asked for, since the order jumps.
  std::size_t next(std::size_t k) const {
    constexpr std::size_t ahead = 12;
    if (k + ahead < count) {
      const std::size_t later = static_cast<std::size_t>(order[k + ahead]), size = begin(later + 1) - begin(later);
      prefetch_bytes(values + begin(later), size * sizeof(double));
      if (columns)
        prefetch_bytes(columns + begin(later), size * sizeof(std::int32_t));
    }
    return static_cast<std::size_t>(order[k]);
  }
};

template <class T> DensePairRows<T> dense_pair_rows(const GivenRows &given) {
  DensePairRows<T> rows(given.count, given.width());
  for (std::size_t at = 0; at < given.count; ++at) {
    const std::size_t i = given.next(at);
    const double sign = given.sign[i], *__restrict values = given.values + given.begin(i);
    const std::size_t size = given.begin(i + 1) - given.begin(i);
    T *__restrict row = rows.fresh_row(at);
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
  }
  return rows;
}

template <class Rows> Rows sparse_pair_rows(const GivenRows &given) {
  Rows rows(given.count, given.width(), given.stored() + given.count);
  for (std::size_t at = 0; at < given.count; ++at) {
    const std::size_t i = given.next(at), first = given.begin(i);
    rows.put(at,
             {given.values + first, given.columns + first, given.begin(i + 1) - first, given.sign[i], given.constant});
  }
  rows.finish();
  return rows;
}

using PairRows = std::variant<DensePairRows<float>, DensePairRows<double>, UnitPairRows, SparsePairRows<float>,
                              SparsePairRows<double>>;

template <class T> PairRows pair_rows_in(const GivenRows &given) {
  if (!given.columns || 2 * given.stored() > given.count * given.features)
    return dense_pair_rows<T>(given); // from half full on: whole vectors are quicker than single entries
  return sparse_pair_rows<SparsePairRows<T>>(given);
}

// True if the test holds for all values; in pieces without a way out, which vectorize.
template <class Holds> bool all_hold(const double *values, std::size_t count, const Holds &holds) {
  constexpr std::size_t piece = 1024;
  for (std::size_t start = 0; start < count; start += piece) {
    std::uint64_t failed = 0;
    for (std::size_t k = start; k < std::min(start + piece, count); ++k)
      failed += !holds(values[k]);
    if (failed > 0)
      return false;
  }
  return true;
}

// The form that is read fastest. Half the bytes are worth more to rough steps than digits beyond the seventh; values
// that single precision cannot hold stay double.
inline PairRows pair_rows(const GivenRows &given) {
  if (given.columns && all_hold(given.values, given.stored(), [](double v) { return v == 1.0; }))
    return sparse_pair_rows<UnitPairRows>(given);
  const bool single = all_hold(given.values, given.stored(), [](double v) {
    const double size = v < 0 ? -v : v;
    return (v == 0.0) | ((size > 1e-30) & (size < 1e30));
  });
  return single ? pair_rows_in<float>(given) : pair_rows_in<double>(given);
}

} // namespace steelyard
