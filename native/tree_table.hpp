// The training data of a tree, encoded once: every value becomes its rank among the distinct values of its column.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace steelyard::tree {

// One attribute. Code k stands for values[k]; code values.size() stands for a missing value.
struct Column {
  bool nominal = false;
  bool has_missing = false;
  std::vector<double> values;       // distinct, ascending
  std::vector<std::uint32_t> codes; // one per row
  double same_value = 0;            // neighbouring values closer than this are never separated
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
    constexpr std::size_t kTogether = 8; // columns that share a cache line of X
    std::vector<std::vector<double>> block(kTogether, std::vector<double>(rows));
    for (std::size_t first = 0; first < columns; first += kTogether) {
      const std::size_t n = std::min(kTogether, columns - first);
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t k = 0; k < n; ++k)
          block[k][i] = X[i * columns + first + k];
      for (std::size_t k = 0; k < n; ++k) {
        Column &column = columns_[first + k];
        encode(block[k], column);
        column.nominal = nominal[first + k] != 0;
        column.same_value = smallest_gap(column.values);
        has_missing_ = has_missing_ || column.has_missing;
      }
    }
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
  static void encode(const std::vector<double> &column, Column &out) {
    out.codes.resize(column.size());
    if (!encode_small_integers(column, out))
      encode_by_sorting(column, out);
  }

  // Columns of integers in a short range need no sorting: mark which occur, then number the marks.
  static bool encode_small_integers(const std::vector<double> &column, Column &out) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (double x : column) {
      low = x < low ? x : low;
      high = x > high ? x : high;
      out.has_missing |= x != x;
    }
    if (!(high - low <= 4.0 * static_cast<double>(column.size()) + 1024) || std::fabs(low) > 1e15)
      return low > high ? all_missing(out) : false;
    const auto last = static_cast<std::uint32_t>(high - low);
    std::vector<std::uint32_t> code(last + 2, 0); // one more for the missing values
    bool whole = true;
    for (std::size_t i = 0; i < column.size(); ++i) {
      const double offset = column[i] - low;
      const std::uint32_t at = offset == offset ? static_cast<std::uint32_t>(offset) : last + 1;
      whole &= static_cast<double>(at) == offset || at == last + 1;
      code[at] = 1;
      out.codes[i] = at;
    }
    if (!whole || low != std::floor(low)) {
      out.has_missing = false;
      return false;
    }
    for (std::uint32_t k = 0; k <= last; ++k)
      if (code[k]) {
        code[k] = static_cast<std::uint32_t>(out.values.size());
        out.values.push_back(low + k);
      }
    code[last + 1] = out.missing();
    for (std::uint32_t &c : out.codes)
      c = code[c];
    return true;
  }

  // C4.5 does not separate values closer than 1e-5. Here at most a thousandth of the column's range, so that columns in
  // small units are not lost.
  static double smallest_gap(const std::vector<double> &values) {
    return values.empty() ? 0.0 : std::min(1e-5, 1e-3 * (values.back() - values.front()));
  }

  static bool all_missing(Column &out) {
    std::fill(out.codes.begin(), out.codes.end(), 0u);
    out.has_missing = true;
    return true;
  }

  static void encode_by_sorting(const std::vector<double> &column, Column &out) {
    for (double x : column)
      if (!std::isnan(x))
        out.values.push_back(x);
    std::sort(out.values.begin(), out.values.end());
    out.values.erase(std::unique(out.values.begin(), out.values.end()), out.values.end());
    for (std::size_t i = 0; i < column.size(); ++i) {
      const bool known = !std::isnan(column[i]);
      const auto at = std::lower_bound(out.values.begin(), out.values.end(), column[i]);
      out.codes[i] = known ? static_cast<std::uint32_t>(at - out.values.begin()) : out.missing();
      out.has_missing = out.has_missing || !known;
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
    cells_.resize(n_rows_ * columns_.size());
    std::uint32_t *cell = cells_.data();
    for (std::size_t i = 0; i < n_rows_; ++i)
      for (const Column &column : columns_)
        *cell++ = static_cast<std::uint32_t>(
            column.n_cells == 0 ? 0
                                : column.first_cell + (static_cast<std::size_t>(column.codes[i]) << shift_) +
                                      static_cast<std::size_t>(labels_[i]));
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
