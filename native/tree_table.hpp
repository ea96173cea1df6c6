// The training data of a tree, encoded once: every value becomes its rank among the distinct values of its column.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "pulse.hpp"

namespace steelyard::tree {

// One attribute. Code k stands for values[k]; code values.size() stands for a missing value.
struct Column {
  bool nominal = false;
  bool has_missing = false;
  std::vector<double> values;       // distinct, ascending
  std::vector<std::uint32_t> codes; // one per row
  double same_value = 0;            // neighbouring values closer than this are never separated
  bool apart = true;                // no values are as close as that
  std::size_t first_cell = 0;       // where this column starts in a histogram of (column, value, class)
  std::size_t n_cells = 0;          // 0: too many values for a histogram; its rows are sorted instead

  std::uint32_t missing() const { return static_cast<std::uint32_t>(values.size()); }
};

// Immutable after construction: any number of threads may grow trees on one table at the same time.
class Table {
 public:
  static constexpr std::size_t kSmallHistogram = 32; // cells
  // X is row-major (rows x columns), NaN is a missing value; labels lie in [0, classes).
  Table(const double *X, std::size_t rows, std::size_t columns, const std::uint8_t *nominal, const std::int32_t *labels,
        std::size_t classes)
      : n_rows_(rows), n_classes_(classes), labels_(labels, labels + rows), columns_(columns) {
    const Extents seen(X, rows, columns);
    std::vector<std::size_t> counted;
    Pulse pulse;
    for (std::size_t a = 0; a < columns; ++a) {
      pulse.spend(32 * rows);
      columns_[a].nominal = nominal[a] != 0;
      columns_[a].has_missing = seen.missing[a] > 0;
      has_missing_ = has_missing_ || columns_[a].has_missing;
      columns_[a].codes.resize(rows);
      if (seen.is_short_range_of_integers(a, rows))
        counted.push_back(a);
      else
        encode_by_sorting(X + a, columns, columns_[a]);
    }
    encode_by_counting(X, seen, counted);
    for (Column &column : columns_)
      note_gaps(column);
    lay_out_cells();
  }

  // Cells of one value stand side by side, one per class, padded to a power of two: code = (cell - first_cell) >>
  // shift.
  unsigned shift() const { return shift_; }

  std::size_t n_rows() const { return n_rows_; }
  std::size_t n_classes() const { return n_classes_; }
  std::size_t n_columns() const { return columns_.size(); }
  std::size_t n_cells() const { return n_cells_; }
  bool has_missing() const { return has_missing_; }
  const Column &column(std::size_t a) const { return columns_[a]; }
  const std::vector<std::int32_t> &labels() const { return labels_; }

  // The histogram cell of every column for one row: first_cell + (code << shift) + label.
  const std::uint32_t *cells(std::size_t row) const { return cells_.data() + row * columns_.size(); }

  double value(std::size_t row, std::size_t a) const {
    const Column &c = columns_[a];
    const std::uint32_t code = c.codes[row];
    return code == c.missing() ? std::numeric_limits<double>::quiet_NaN() : c.values[code];
  }

 private:
  // What one pass over X tells of its columns; the loop over columns vectorizes. A NaN loses every comparison.
  struct Extents {
    std::vector<double> low, high, fraction, missing; // fraction: largest distance from a whole number

    Extents(const double *X, std::size_t rows, std::size_t columns)
        : low(columns, std::numeric_limits<double>::infinity()),
          high(columns, -std::numeric_limits<double>::infinity()), fraction(columns, 0.0), missing(columns, 0.0) {
      double *l = low.data(), *h = high.data(), *f = fraction.data(), *m = missing.data();
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t a = 0; a < columns; ++a) {
          const double x = X[i * columns + a];
          const double off = std::fabs(x - ((x + kRounder) - kRounder));
          l[a] = x < l[a] ? x : l[a];
          h[a] = x > h[a] ? x : h[a];
          f[a] = off > f[a] ? off : f[a];
          m[a] += x != x ? 1.0 : 0.0;
        }
    }

    bool is_short_range_of_integers(std::size_t a, std::size_t rows) const {
      return high[a] - low[a] <= 4.0 * static_cast<double>(rows) + 1024 && std::fabs(low[a]) <= 1e15 &&
             fraction[a] == 0;
    }

    static constexpr double kRounder = 6755399441055744.0; // 1.5 * 2^52: adding it leaves no binary places
  };

  // Calls visit(first row, end) for pieces of X short enough to be read column by column from the nearest cache.
  template <class Visit> void for_each_piece(const Visit &visit) const {
    constexpr std::size_t kPiece = 128;
    for (std::size_t first = 0; first < n_rows_; first += kPiece)
      visit(first, std::min(first + kPiece, n_rows_));
  }

  // Columns of integers in a short range need no sorting: mark which occur, then number the marks.
  void encode_by_counting(const double *X, const Extents &seen, const std::vector<std::size_t> &which) {
    const std::size_t width = columns_.size();
    std::vector<std::vector<std::uint32_t>> code(width); // of every offset from low; one more for the missing values
    for (std::size_t a : which)
      code[a].resize(static_cast<std::size_t>(seen.high[a] - seen.low[a]) + 2);
    for_each_piece([&](std::size_t first, std::size_t end) {
      for (std::size_t a : which) {
        const double *x = X + a, low = seen.low[a];
        const auto missing = static_cast<std::uint32_t>(code[a].size() - 1);
        std::uint32_t *mark = code[a].data(), *codes = columns_[a].codes.data();
        for (std::size_t i = first; i < end; ++i) {
          const double offset = x[i * width] - low;
          const std::uint32_t at = offset == offset ? static_cast<std::uint32_t>(offset) : missing;
          mark[at] = 1;
          codes[i] = at;
        }
      }
    });
    for (std::size_t a : which)
      number_the_marks(seen.low[a], code[a], columns_[a]);
  }

  static void number_the_marks(double low, std::vector<std::uint32_t> &code, Column &out) {
    const std::size_t n = code.size() - 1;
    for (std::size_t offset = 0; offset < n; ++offset)
      if (code[offset]) {
        code[offset] = out.missing();
        out.values.push_back(low + static_cast<double>(offset));
      }
    if (out.values.size() == n)
      return; // no gaps: the offsets are the codes
    code[n] = out.missing();
    for (std::uint32_t &c : out.codes)
      c = code[c];
  }

  // C4.5 does not separate values closer than 1e-5. Here at most a thousandth of the column's range, so that columns in
  // small units are not lost.
  static void note_gaps(Column &column) {
    const std::vector<double> &values = column.values;
    column.same_value = values.empty() ? 0.0 : std::min(1e-5, 1e-3 * (values.back() - values.front()));
    for (std::size_t k = 1; k < values.size(); ++k)
      column.apart = column.apart && values[k - 1] + column.same_value < values[k];
  }

  static void encode_by_sorting(const double *x, std::size_t width, Column &out) {
    const std::size_t rows = out.codes.size();
    for (std::size_t i = 0; i < rows; ++i)
      if (!std::isnan(x[i * width]))
        out.values.push_back(x[i * width]);
    std::sort(out.values.begin(), out.values.end());
    out.values.erase(std::unique(out.values.begin(), out.values.end()), out.values.end());
    for (std::size_t i = 0; i < rows; ++i) {
      const auto at = std::lower_bound(out.values.begin(), out.values.end(), x[i * width]);
      out.codes[i] = std::isnan(x[i * width]) ? out.missing() : static_cast<std::uint32_t>(at - out.values.begin());
    }
  }

  // A histogram larger than the data would not pay. Large ones start on a multiple of 64, so that a word of marks
  // belongs to one column; small ones are packed, which keeps equal values of different columns out of each other's way
  // in the cache.
  void lay_out_cells() {
    while ((std::size_t{1} << shift_) < n_classes_)
      ++shift_;
    for (Column &column : columns_) {
      const std::size_t cells = (column.values.size() + 1) << shift_;
      if (cells > kSmallHistogram)
        n_cells_ = (n_cells_ + 63) / 64 * 64;
      column.first_cell = n_cells_;
      column.n_cells = cells <= n_rows_ + 1024 && n_cells_ + cells < kMostCells ? cells : 0;
      n_cells_ += column.n_cells;
      if (cells > kSmallHistogram)
        n_cells_ = (n_cells_ + 63) / 64 * 64;
    }
    n_cells_ = (n_cells_ + 63) / 64 * 64;
    const std::size_t width = columns_.size();
    cells_.resize(n_rows_ * width);
    for_each_piece([&](std::size_t first, std::size_t end) {
      for (std::size_t a = 0; a < width; ++a) {
        if (columns_[a].n_cells == 0)
          continue;
        std::uint32_t *cell = cells_.data() + a;
        const std::uint32_t *codes = columns_[a].codes.data();
        const std::int32_t *labels = labels_.data();
        const auto base = static_cast<std::uint32_t>(columns_[a].first_cell);
        for (std::size_t i = first; i < end; ++i)
          cell[i * width] = base + (codes[i] << shift_) + static_cast<std::uint32_t>(labels[i]);
      }
    });
  }

  static constexpr std::size_t kMostCells = std::size_t{1} << 31;

  std::size_t n_rows_, n_classes_, n_cells_ = 0;
  bool has_missing_ = false;
  unsigned shift_ = 0;
  std::vector<std::int32_t> labels_;
  std::vector<Column> columns_;
  std::vector<std::uint32_t> cells_;
};

} // namespace steelyard::tree
