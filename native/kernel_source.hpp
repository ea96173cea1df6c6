// Where the solver gets kernel values from: a shared Gram matrix, or rows computed on demand in a bounded LRU cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "gram.hpp"

namespace steelyard {

constexpr std::size_t LARGEST_BLOCK = 4096; // 64 MB in single precision

using Examples = std::vector<std::int32_t>; // their positions within a problem
constexpr std::int32_t NO_EXAMPLE = -1;

// Examples seated side by side, whole cache lines of them, with the kernel among them; some seats may be empty.
template <class T> struct Seats {
  Examples examples;
  std::vector<const T *> rows;
};

// The kernel among the examples of one problem. Sums over examples are kept in a vector of `width()` entries in which
// example i owns entry `place(i)`: a problem on most rows of a shared Gram sums whole rows, which are contiguous.
template <class T> class KernelSource {
 public:
  virtual ~KernelSource() = default;
  virtual std::size_t examples() const = 0;
  virtual std::size_t width() const = 0;
  virtual std::size_t place(std::size_t i) const = 0;
  // Seats for all examples on the memory of the kernel itself; none if the examples do not lie that way.
  virtual Seats<T> everyone() { return {}; }
  // How many examples the solver may hold the kernel among, within the memory this source is meant to take.
  virtual std::size_t largest_block() const = 0;
  // K(i, .) over the examples; valid until the next call.
  virtual const T *row(std::size_t i) = 0;
  // out[k, l] = K(rows[k], columns[l])
  virtual void cross(const Examples &rows, const Examples &columns, T *out) = 0;
  // sums += sum_k weight[k] K(which[k], .)
  virtual void add(const Examples &which, const std::vector<double> &weight, double *sums) = 0;
};

template <class T> class SharedGram final : public KernelSource<T> {
 public:
  SharedGram(const T *gram, std::size_t rows, const std::int64_t *index, std::size_t examples,
             std::size_t largest_block)
      : gram_(gram), rows_(rows), index_(index), examples_(examples), largest_block_(largest_block),
        whole_rows_(2 * examples_ >= rows) {}

  std::size_t examples() const override { return examples_; }
  std::size_t width() const override { return whole_rows_ ? rows_ : examples_; }
  std::size_t place(std::size_t i) const override { return whole_rows_ ? at(i) : i; }

  std::size_t largest_block() const override { return largest_block_; }

  // A row runs on into the next, over seats that nobody takes; the last one has no next and is copied to where it can.
  Seats<T> everyone() override {
    const std::size_t seats = padded(rows_, CACHE_LINE / sizeof(float));
    if (!whole_rows_ || seats > 2 * rows_)
      return {};
    Seats<T> found{Examples(seats, NO_EXAMPLE), {}};
    for (std::size_t i = 0; i < examples_; ++i) {
      if (found.examples[at(i)] != NO_EXAMPLE)
        return {}; // one row is two examples
      found.examples[at(i)] = static_cast<std::int32_t>(i);
    }
    last_row_.assign(gram_ + (rows_ - 1) * rows_, gram_ + rows_ * rows_);
    last_row_.resize(seats, T(0));
    for (std::size_t k = 0; k < seats; ++k)
      found.rows.push_back(k + 1 < rows_ ? gram_ + k * rows_ : last_row_.data());
    return found;
  }

  const T *row(std::size_t i) override {
    const T *whole = gram_ + at(i) * rows_;
    row_.resize(examples_);
    for (std::size_t j = 0; j < examples_; ++j)
      row_[j] = whole[at(j)];
    return row_.data();
  }

  void cross(const Examples &rows, const Examples &columns, T *out) override {
    places_.resize(columns.size());
    for (std::size_t l = 0; l < columns.size(); ++l)
      places_[l] = at(columns[l]);
    for (const std::int32_t i : rows) {
      const T *row = gram_ + at(i) * rows_;
      for (std::size_t l = 0; l < columns.size(); ++l)
        *out++ = row[places_[l]];
    }
  }

  void add(const Examples &which, const std::vector<double> &weight, double *sums) override {
    pointers_.resize(which.size());
    for (std::size_t k = 0; k < which.size(); ++k)
      pointers_[k] = gram_ + at(which[k]) * rows_;
    if (whole_rows_)
      return add_rows(pointers_.data(), weight.data(), which.size(), rows_, sums);
    for (std::size_t k = 0; k < which.size(); ++k)
      for (std::size_t j = 0; j < examples_; ++j)
        sums[j] += weight[k] * pointers_[k][index_[j]];
  }

 private:
  std::size_t at(std::size_t i) const { return static_cast<std::size_t>(index_[i]); }

  const T *gram_;
  std::size_t rows_;
  const std::int64_t *index_;
  std::size_t examples_, largest_block_;
  bool whole_rows_;
  std::vector<std::size_t> places_;
  std::vector<const T *> pointers_;
  std::vector<T> row_, last_row_;
};

// Rows of examples that can be compared by a kernel: dense or CSR.
template <class T> class DenseExamples {
 public:
  using Value = T;
  DenseExamples(const Kernel &kernel, const DenseView<T> &X)
      : kernel_(kernel), X_(X), all_(X.rows, X.features, [&](std::size_t i) { return X.row(i); }), some_(X.features) {}
  std::size_t size() const { return X_.rows; }
  template <class Out> void rows(const Examples &which, Out *const *out) {
    const std::vector<const T *> pointers = at(which);
    kernel_rows(kernel_, pointers.data(), pointers.size(), all_, out);
  }
  template <class Out> void cross(const Examples &rows, const Examples &columns, Out *out) {
    some_.pack(columns.size(), [&](std::size_t k) { return X_.row(columns[k]); });
    const std::vector<const T *> pointers = at(rows);
    std::vector<Out *> to;
    for (std::size_t k = 0; k < rows.size(); ++k)
      to.push_back(out + k * columns.size());
    kernel_rows(kernel_, pointers.data(), pointers.size(), some_, to.data());
  }

 private:
  std::vector<const T *> at(const Examples &which) const {
    std::vector<const T *> pointers;
    for (const std::int32_t i : which)
      pointers.push_back(X_.row(i));
    return pointers;
  }

  Kernel kernel_;
  DenseView<T> X_;
  Panels<T> all_, some_;
};

template <class T> class SparseExamples {
 public:
  using Value = T;
  SparseExamples(const Kernel &kernel, const CsrView<T> &X) : kernel_(kernel), X_(X), x_(X.features) {}
  std::size_t size() const { return X_.rows; }
  template <class Out> void rows(const Examples &which, Out *const *out) {
    base_.resize(X_.rows);
    for (std::size_t k = 0; k < which.size(); ++k) {
      x_.load(X_, which[k]);
      for (std::size_t j = 0; j < X_.rows; ++j)
        base_[j] = x_.base(kernel_.of_distance(), X_, j);
      finish(kernel_, base_.data(), X_.rows, out[k]);
    }
  }
  template <class Out> void cross(const Examples &rows, const Examples &columns, Out *out) {
    base_.resize(columns.size());
    for (std::size_t k = 0; k < rows.size(); ++k) {
      x_.load(X_, rows[k]);
      for (std::size_t l = 0; l < columns.size(); ++l)
        base_[l] = x_.base(kernel_.of_distance(), X_, columns[l]);
      finish(kernel_, base_.data(), columns.size(), out + k * columns.size());
    }
  }

 private:
  Kernel kernel_;
  CsrView<T> X_;
  SparseRow<T> x_;
  std::vector<double> base_;
};

// Kernel rows in at most `bytes` of memory, the least recently used given up first.
template <class T, class Rows> class CachedRows final : public KernelSource<T> {
 public:
  CachedRows(Rows examples, std::size_t bytes)
      : of_(std::move(examples)), block_(block_within(bytes)),
        slots_(std::max<std::size_t>(ROW_BLOCK, (bytes - std::min(bytes, block_ * block_ * sizeof(T))) /
                                                    (of_.size() * sizeof(T)))),
        slot_of_(of_.size(), used_.end()) {}

  std::size_t examples() const override { return of_.size(); }
  std::size_t width() const override { return of_.size(); }
  std::size_t place(std::size_t i) const override { return i; }
  std::size_t largest_block() const override { return block_; }

  const T *row(std::size_t i) override { return look_up({static_cast<std::int32_t>(i)})[0]; }

  void cross(const Examples &rows, const Examples &columns, T *out) override { of_.cross(rows, columns, out); }
  void add(const Examples &which, const std::vector<double> &weight, double *sums) override {
    for (std::size_t start = 0; start < which.size(); start += TOGETHER) {
      const std::size_t stop = std::min(which.size(), start + TOGETHER);
      const std::vector<const T *> values = look_up({which.begin() + start, which.begin() + stop});
      add_rows(values.data(), &weight[start], values.size(), of_.size(), sums);
    }
  }

 private:
  struct Row {
    std::int32_t example;
    std::vector<T> values;
  };
  using Slot = typename std::list<Row>::iterator;
  static constexpr std::size_t TOGETHER = ROW_BLOCK; // rows computed in one go; there are at least as many slots

  // Rows of at most TOGETHER examples. Those at hand go to the front first, so that none of them makes room for
  // another.
  std::vector<const T *> look_up(const Examples &which) {
    Examples missing;
    std::vector<T *> to;
    for (const std::int32_t i : which)
      if (slot_of_[i] != used_.end())
        used_.splice(used_.begin(), used_, slot_of_[i]);
      else
        missing.push_back(i);
    for (const std::int32_t i : missing) {
      if (used_.size() < slots_) {
        used_.push_front({i, std::vector<T>(of_.size())});
      } else {
        used_.splice(used_.begin(), used_, std::prev(used_.end()));
        slot_of_[used_.front().example] = used_.end();
        used_.front().example = i;
      }
      slot_of_[i] = used_.begin();
      to.push_back(used_.front().values.data());
    }
    if (!missing.empty())
      of_.rows(missing, to.data());
    std::vector<const T *> found;
    for (const std::int32_t i : which)
      found.push_back(slot_of_[i]->values.data());
    return found;
  }

  static std::size_t block_within(std::size_t bytes) { // half of the memory, if that is enough to work with
    const std::size_t size = static_cast<std::size_t>(std::sqrt(double(bytes / 2) / sizeof(T)));
    return std::max<std::size_t>(64, std::min(size, LARGEST_BLOCK));
  }

  Rows of_;
  std::size_t block_, slots_;
  std::list<Row> used_; // most recently used first
  std::vector<Slot> slot_of_;
};

} // namespace steelyard
