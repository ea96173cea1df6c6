// Class weights of every value of every column at one node, by whichever way is the cheapest for that column:
//   scanned  few values compared with the rows: fill a histogram, look at all its cells;
//   marked   a histogram again, but with one bit per cell to find the few that are filled;
//   sorted   very many values: sort the rows of the node.
#pragma once

#include "tree_rows.hpp"

namespace steelyard::tree {

// `Weight` is double, or an integer type where all weights are whole numbers: the same sums, in half the memory.
// `Classes` is the number of classes if it is small, so that loops over them unroll, else 0.
template <class Weight> class ValueCounter {
 public:
  enum class Way : std::uint8_t { scanned, marked, sorted, closed };

  void reset(const Table &table) {
    histogram_.resize(table.n_cells());
    marks_.resize(table.n_cells() / 64);
    way_.resize(table.n_columns());
    classes_.resize(table.n_classes());
  }

  // Counts all columns but the closed ones in one pass over the rows. Columns side by side: their additions do not wait
  // for each other.
  void count(const Table &table, const RowStack &rows, Range range, const std::vector<std::uint8_t> &closed) {
    scanned_.clear();
    marked_.clear();
    for (std::size_t a = 0; a < table.n_columns(); ++a) {
      const std::size_t cells = table.column(a).n_cells;
      way_[a] = closed[a] ? Way::closed : cheapest_way(cells, table.shift(), range.size());
      if (way_[a] == Way::scanned)
        scanned_.push_back(static_cast<std::uint32_t>(a));
      if (way_[a] == Way::marked)
        marked_.push_back(static_cast<std::uint32_t>(a));
    }
    add_rows(table, rows, range);
  }

  // Calls visit(code, weight of each class) for every known value, in ascending order, until it returns false.
  template <std::size_t Classes, class Visit>
  void for_each_value(const Table &table, const RowStack &rows, Range range, std::size_t a, Visit &&visit) {
    switch (way_[a]) {
    case Way::scanned:
      return visit_scanned<Classes>(table, a, visit);
    case Way::marked:
      return visit_marked(table, a, visit);
    default:
      return visit_sorted(table, rows, range, a, visit);
    }
  }

  // Has to be called once per counted column when it is done with: leaves the histogram empty for the next node.
  void clear(const Table &table, std::size_t a) {
    const Column &column = table.column(a);
    if (way_[a] == Way::scanned)
      std::fill_n(histogram_.data() + column.first_cell, column.n_cells, Weight{0});
    if (way_[a] == Way::marked)
      for (std::size_t word = column.first_cell / 64; word < (column.first_cell + column.n_cells + 63) / 64; ++word)
        for (; marks_[word] != 0; marks_[word] &= marks_[word] - 1)
          histogram_[word * 64 + lowest_bit(marks_[word])] = 0;
  }

 private:
  static Way cheapest_way(std::size_t cells, unsigned shift, std::size_t rows) {
    if (cells == 0)
      return Way::sorted;
    if (cells <= 2 * rows + Table::kSmallHistogram)
      return Way::scanned;
    return shift <= 6 && cells <= 256 * rows ? Way::marked : Way::sorted; // a value's cells must share one word
  }

  void add_rows(const Table &table, const RowStack &rows, Range range) {
    Weight *histogram = histogram_.data();
    const std::size_t n_scanned = scanned_.size(), n_marked = marked_.size();
    const std::uint32_t *scanned = scanned_.data(), *marked = marked_.data();
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const std::uint32_t *cells = table.cells(rows.row[i]);
      const auto w = static_cast<Weight>(rows.weight[i]);
      for (std::size_t k = 0; k < n_scanned; ++k)
        histogram[cells[scanned[k]]] += w;
      for (std::size_t k = 0; k < n_marked; ++k) {
        const std::uint32_t cell = cells[marked[k]];
        histogram[cell] += w;
        marks_[cell >> 6] |= std::uint64_t{1} << (cell & 63);
      }
    }
  }

  // First lists the values that occur: whether one does is anybody's guess, and a wrong guess of the processor costs
  // more than the list.
  template <std::size_t Classes, class Visit> void visit_scanned(const Table &table, std::size_t a, Visit &visit) {
    const Column &column = table.column(a);
    const Weight *first = histogram_.data() + column.first_cell, *cell = first;
    const unsigned shift = table.shift();
    const std::size_t stride = std::size_t{1} << shift, n_classes = Classes > 0 ? Classes : table.n_classes();
    present_.resize(std::max(present_.size(), column.values.size()));
    std::uint32_t *present = present_.data();
    std::size_t n = 0;
    for (std::uint32_t code = 0; code < column.missing(); ++code, cell += stride) {
      bool any = false;
      for (std::size_t c = 0; c < n_classes; ++c)
        any |= cell[c] > 0;
      present[n] = code;
      n += any;
    }
    for (std::size_t k = 0; k < n; ++k)
      if (!visit(present[k], first + (static_cast<std::size_t>(present[k]) << shift)))
        return;
  }

  template <class Visit> void visit_marked(const Table &table, std::size_t a, Visit &visit) {
    const Column &column = table.column(a);
    const unsigned shift = table.shift();
    const std::uint64_t one_value = shift == 6 ? ~std::uint64_t{0} : (std::uint64_t{1} << (1u << shift)) - 1;
    const std::size_t end = (column.first_cell + column.n_cells + 63) / 64;
    for (std::size_t word = column.first_cell / 64; word < end; ++word)
      for (std::uint64_t bits = marks_[word]; bits != 0;) {
        const unsigned first = lowest_bit(bits) >> shift << shift;
        bits &= ~(one_value << first);
        const std::size_t cell = word * 64 + first;
        const auto code = static_cast<std::uint32_t>((cell - column.first_cell) >> shift);
        if (code == column.missing() || !visit(code, histogram_.data() + cell))
          return;
      }
  }

  template <class Visit>
  void visit_sorted(const Table &table, const RowStack &rows, Range range, std::size_t a, Visit &visit) {
    const Column &column = table.column(a);
    sort_rows(column, rows, range);
    for (std::size_t i = 0; i < order_.size();) {
      const auto code = static_cast<std::uint32_t>(order_[i] >> 32);
      std::fill(classes_.begin(), classes_.end(), Weight{0});
      for (; i < order_.size() && order_[i] >> 32 == code; ++i) {
        const std::size_t at = range.begin + (order_[i] & 0xffffffffu);
        classes_[static_cast<std::size_t>(table.labels()[rows.row[at]])] += static_cast<Weight>(rows.weight[at]);
      }
      if (code == column.missing() || !visit(code, classes_.data()))
        return;
    }
  }

  void sort_rows(const Column &column, const RowStack &rows, Range range) {
    const std::uint32_t *codes = column.codes.data();
    const std::size_t n = range.size();
    order_.resize(n);
    if (column.values.size() > 4 * n) {
      for (std::size_t i = 0; i < n; ++i)
        order_[i] = (static_cast<std::uint64_t>(codes[rows.row[range.begin + i]]) << 32) | i;
      std::sort(order_.begin(), order_.end());
      return;
    }
    first_.assign(column.values.size() + 2, 0);
    for (std::size_t i = 0; i < n; ++i)
      ++first_[codes[rows.row[range.begin + i]] + 1];
    for (std::size_t k = 1; k < first_.size(); ++k)
      first_[k] += first_[k - 1];
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t code = codes[rows.row[range.begin + i]];
      order_[first_[code]++] = (code << 32) | i;
    }
  }

  static unsigned lowest_bit(std::uint64_t bits) { return static_cast<unsigned>(__builtin_ctzll(bits)); }

  std::vector<Weight> histogram_, classes_;
  std::vector<std::uint64_t> marks_, order_; // order_: (code, position in the range)
  std::vector<std::uint32_t> scanned_, marked_, first_, present_;
  std::vector<Way> way_;
};

} // namespace steelyard::tree
