// One kernel matrix for many problems: a matrix that lies there already, or rows that are computed when a problem first
// needs them and then kept. A support vector machine looks at the rows of its support and at few others.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "gram.hpp"
#include "large_pages.hpp"
#include "pulse.hpp"

namespace steelyard {

using Examples = std::vector<std::int32_t>; // positions, within a problem or within a matrix

// Rows that can be compared by a kernel. Several threads may ask at once.
template <class Out> class RowExamples {
 public:
  explicit RowExamples(std::size_t size) : size_(size) {}
  virtual ~RowExamples() = default;
  std::size_t size() const { return size_; }
  // out[k] = K(which[k], .)
  virtual void rows(const Examples &which, Out *const *out) const = 0;
  // out[k][l] = K(rows[k], columns[l])
  virtual void cross(const Examples &rows, const Examples &columns, Out *const *out) const = 0;

 private:
  std::size_t size_;
};

template <class T, class Out> class DenseExamples final : public RowExamples<Out> {
 public:
  DenseExamples(const Kernel &kernel, const DenseView<T> &X)
      : RowExamples<Out>(X.rows), kernel_(kernel), X_(X),
        all_(X.rows, X.features, [&](std::size_t i) { return X.row(i); }) {}
  void rows(const Examples &which, Out *const *out) const override { compare(which, all_, out); }
  void cross(const Examples &rows, const Examples &columns, Out *const *out) const override {
    compare(rows, Panels<T>(columns.size(), X_.features, [&](std::size_t k) { return X_.row(columns[k]); }), out);
  }

 private:
  void compare(const Examples &which, const Panels<T> &panels, Out *const *out) const {
    std::vector<const T *> pointers;
    for (const std::int32_t i : which)
      pointers.push_back(X_.row(i));
    kernel_rows(kernel_, pointers.data(), pointers.size(), panels, out);
  }

  Kernel kernel_;
  DenseView<T> X_;
  Panels<T> all_;
};

template <class T, class Out> class SparseExamples final : public RowExamples<Out> {
 public:
  SparseExamples(const Kernel &kernel, const CsrView<T> &X) : RowExamples<Out>(X.rows), kernel_(kernel), X_(X) {}
  void rows(const Examples &which, Out *const *out) const override {
    compare(which, X_.rows, [](std::size_t j) { return j; }, out);
  }
  void cross(const Examples &rows, const Examples &columns, Out *const *out) const override {
    compare(rows, columns.size(), [&](std::size_t l) { return columns[l]; }, out);
  }

 private:
  template <class Column> void compare(const Examples &which, std::size_t count, Column column, Out *const *out) const {
    SparseRow<T> x(X_.features);
    std::vector<double> base(count);
    const std::size_t stored = static_cast<std::size_t>(X_.starts[X_.rows]);
    Pulse pulse;
    for (std::size_t k = 0; k < which.size(); ++k) {
      pulse.spend(count * (stored / X_.rows + 8));
      x.load(X_, which[k]);
      for (std::size_t l = 0; l < count; ++l)
        base[l] = x.base(kernel_.of_distance(), X_, column(l));
      finish(kernel_, base.data(), count, out[k]);
    }
  }

  Kernel kernel_;
  CsrView<T> X_;
};

template <class T> class GramRows {
 public:
  virtual ~GramRows() = default;
  virtual std::size_t size() const = 0;
  virtual std::size_t rows_at_hand() const = 0;
  // Makes these rows be at hand; they stay.
  virtual void fetch(const Examples &which) = 0;
  // A row at hand.
  virtual const T *row(std::size_t i) const = 0;
  // All rows, null for those not at hand, each of which may be read up to a whole cache line.
  virtual std::vector<const T *> whole_lines() = 0;
  // out[k, l] = K(rows[k], columns[l])
  virtual void cross(const Examples &rows, const Examples &columns, T *out) = 0;

 protected:
  static void gather(const T *row, const Examples &columns, T *out) {
    for (std::size_t l = 0; l < columns.size(); ++l)
      out[l] = row[columns[l]];
  }
};

inline std::size_t whole_line(std::size_t n) { return padded(n, CACHE_LINE / sizeof(float)); }

// A matrix of the caller's.
template <class T> class WholeGram final : public GramRows<T> {
 public:
  WholeGram(const T *gram, std::size_t size) : gram_(gram), size_(size) {}
  std::size_t size() const override { return size_; }
  std::size_t rows_at_hand() const override { return size_; }
  void fetch(const Examples &) override {}
  const T *row(std::size_t i) const override { return gram_ + i * size_; }
  void cross(const Examples &rows, const Examples &columns, T *out) override {
    for (std::size_t k = 0; k < rows.size(); ++k)
      this->gather(row(rows[k]), columns, out + k * columns.size());
  }

  // A row runs on into the next; the last has no next and is copied to where it can. None where a line is longer.
  std::vector<const T *> whole_lines() override {
    if (whole_line(size_) > 2 * size_)
      return {};
    last_row_.assign(row(size_ - 1), row(size_));
    last_row_.resize(whole_line(size_), T(0));
    std::vector<const T *> lines;
    for (std::size_t i = 0; i + 1 < size_; ++i)
      lines.push_back(row(i));
    lines.push_back(last_row_.data());
    return lines;
  }

 private:
  const T *gram_;
  std::size_t size_;
  std::vector<T> last_row_;
};

// Rows computed when they are first fetched.
template <class T> class GrowingGram final : public GramRows<T> {
 public:
  explicit GrowingGram(std::unique_ptr<const RowExamples<T>> of)
      : of_(std::move(of)), stride_(whole_line(size())), rows_(size()), forgotten_(size()), claimed_(size(), 0) {}

  std::size_t size() const override { return of_->size(); }
  std::size_t rows_at_hand() const override {
    return std::count_if(rows_.begin(), rows_.end(), [](const auto &row) { return row.load() != nullptr; });
  }
  const T *row(std::size_t i) const override { return rows_[i].load(std::memory_order_acquire); }

  // A few at a time, so that threads in want of the same rows share the work. What another thread is computing is
  // waited for; should it fail, it is computed here.
  void fetch(const Examples &which) override {
    while (!std::all_of(which.begin(), which.end(), [&](auto i) { return row(i) != nullptr; })) {
      for (auto next = which.begin(); next != which.end();)
        compute(claim(next, which.end()));
      std::unique_lock<std::mutex> lock(mutex_);
      moved_.wait(lock, [&] { return std::none_of(which.begin(), which.end(), [&](auto i) { return claimed(i); }); });
    }
  }

  std::vector<const T *> whole_lines() override {
    std::vector<const T *> lines;
    for (std::size_t i = 0; i < size(); ++i)
      lines.push_back(row(i));
    return lines;
  }

  // Parts of a row are computed and forgotten until they have cost as much as the whole row, which is then kept: never
  // more than twice the work of knowing beforehand.
  void cross(const Examples &rows, const Examples &columns, T *out) override {
    fetch(costly_rows(rows, columns.size()));
    Examples missing;
    std::vector<T *> to;
    for (std::size_t k = 0; k < rows.size(); ++k)
      if (const T *whole = row(rows[k])) {
        this->gather(whole, columns, out + k * columns.size());
      } else {
        missing.push_back(rows[k]);
        to.push_back(out + k * columns.size());
      }
    if (!missing.empty())
      of_->cross(missing, columns, to.data());
  }

 private:
  struct FreeBytes {
    std::size_t bytes;
    void operator()(T *at) const { free_bytes(at, bytes); }
  };
  using Chunk = std::unique_ptr<T, FreeBytes>;

  bool claimed(std::size_t i) const { return claimed_[i] != 0; }

  struct Claim {
    Examples rows;
    std::vector<T *> to;
  };

  Claim claim(Examples::const_iterator &next, Examples::const_iterator end) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Claim mine;
    try {
      for (; next != end && mine.rows.size() < TOGETHER; ++next)
        if (!row(*next) && !claimed(*next)) {
          mine.rows.push_back(*next);
          mine.to.push_back(room());
          claimed_[*next] = 1;
        }
    } catch (...) { // out of memory: nobody shall wait for what will not come
      for (const std::int32_t i : mine.rows)
        claimed_[i] = 0;
      moved_.notify_all();
      throw;
    }
    return mine;
  }

  void compute(const Claim &mine) {
    if (mine.rows.empty())
      return;
    const auto give_back = [&](bool ready) {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (std::size_t k = 0; k < mine.rows.size(); ++k) {
        if (ready)
          rows_[mine.rows[k]].store(mine.to[k], std::memory_order_release);
        claimed_[mine.rows[k]] = 0;
      }
      moved_.notify_all();
    };
    try {
      of_->rows(mine.rows, mine.to.data());
    } catch (...) {
      give_back(false);
      throw;
    }
    give_back(true);
  }

  Examples costly_rows(const Examples &rows, std::size_t numbers) {
    Examples costly;
    for (const std::int32_t i : rows)
      if (!row(i) && (forgotten_[i] += numbers) > size())
        costly.push_back(i);
    return costly;
  }

  // Rows lie in the order in which they came, so that those never needed take no memory.
  T *room() {
    if (left_ == 0) {
      const std::size_t rows = std::clamp<std::size_t>(CHUNK_BYTES / (stride_ * sizeof(T)), 1, size());
      const std::size_t bytes = rows * stride_ * sizeof(T);
      chunks_.push_back(Chunk(static_cast<T *>(allocate_bytes(bytes)), FreeBytes{bytes}));
      left_ = rows;
      next_ = chunks_.back().get();
    }
    T *at = next_;
    std::fill(at + size(), at + stride_, T(0));
    next_ += stride_;
    --left_;
    return at;
  }

  static constexpr std::size_t CHUNK_BYTES = std::size_t{1} << 24, TOGETHER = 64;
  const std::unique_ptr<const RowExamples<T>> of_;
  std::size_t stride_;
  std::vector<std::atomic<const T *>> rows_;
  std::vector<std::atomic<std::size_t>> forgotten_; // numbers of a row that were computed and not kept
  std::mutex mutex_;                                // over all below
  std::condition_variable moved_;
  std::vector<unsigned char> claimed_; // a thread computes the row
  std::vector<Chunk> chunks_;
  T *next_ = nullptr;
  std::size_t left_ = 0;
};

} // namespace steelyard
