// libFuzzer target of the LIBSVM parser: any bytes, cut into blocks anywhere, give rows or an error, and the same ones.
// The first byte chooses base, width and row limit, the second where the text is cut. See scripts/fuzz.
#include "../libsvm.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

struct Outcome {
  std::int64_t rows = 0, pairs = 0, widest = 0, line = 0;
  bool is_faulty = false;
  double label_sum = 0;
};

void check(bool holds, const char *law) {
  if (!holds) {
    std::fprintf(stderr, "law broken: %s\n", law);
    std::abort();
  }
}

template <class V> void take(steelyard::LibsvmParser<V> &parser, std::int64_t width, Outcome &seen) {
  const std::int64_t rows = parser.rows();
  std::int64_t start = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t end = parser.ends.begin()[i];
    std::int64_t last = -1;
    for (std::int64_t k = start; k < end; ++k) {
      const std::int64_t index = parser.is_wide() ? parser.wide.begin()[k] : parser.narrow.begin()[k];
      const V value = parser.values.begin()[k];
      check(index > last, "indices of a row ascend");
      check(width < 0 || index < width, "indices lie within the width");
      check(value - value == 0, "values are finite");
      last = index;
    }
    check(end >= start, "rows do not overlap");
    seen.pairs += end - start;
    seen.label_sum += parser.labels.begin()[i] > 0 ? 1 : 0;
    start = end;
  }
  seen.rows += rows;
  std::free(parser.ends.release());
  std::free(parser.is_wide() ? static_cast<void *>(parser.wide.release()) : parser.narrow.release());
  std::free(parser.values.release());
  std::free(parser.labels.release());
}

template <class V>
Outcome read(const char *text, std::size_t size, std::size_t block, int base, std::int64_t width, std::int64_t limit) {
  steelyard::LibsvmParser<V> parser(base, width);
  Outcome seen;
  for (std::size_t at = 0; at < size && !parser.error().expected;) {
    const std::size_t used = parser.feed(text + at, std::min(block, size - at), limit);
    check(used > 0 || parser.error().expected, "a block is consumed or faulty");
    check(parser.rows() <= limit, "the row limit holds");
    at += used;
    if (parser.rows() == limit)
      take(parser, width, seen);
  }
  parser.finish();
  seen.is_faulty = parser.error().expected != nullptr;
  seen.line = parser.error().line;
  seen.widest = parser.widest();
  if (!seen.is_faulty)
    take(parser, width, seen);
  return seen;
}

template <class V> void run(const char *text, std::size_t size, std::size_t block, int base, std::int64_t width) {
  const Outcome whole = read<V>(text, size, std::max<std::size_t>(size, 1), base, width, 1 << 30);
  const Outcome cut = read<V>(text, size, block, base, width, 3);
  check(whole.is_faulty == cut.is_faulty && whole.line == cut.line, "cuts do not change what is faulty");
  if (!whole.is_faulty)
    check(whole.rows == cut.rows && whole.pairs == cut.pairs && whole.widest == cut.widest &&
              whole.label_sum == cut.label_sum,
          "cuts do not change what is read");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  if (size < 2)
    return 0;
  const int base = data[0] & 1;
  const std::int64_t width = data[0] & 2 ? 2147483647 : data[0] & 4 ? 5 : -1;
  const std::size_t block = 1 + data[1] % 61;
  const char *text = reinterpret_cast<const char *>(data + 2);
  if (data[0] & 8)
    run<float>(text, size - 2, block, base, width);
  else
    run<double>(text, size - 2, block, base, width);
  return 0;
}
