// The kernel among the examples of the working set, kept from round to round: only newcomers' rows are looked up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernel_source.hpp"
#include "large_pages.hpp"

namespace steelyard {

template <class T> class WorkingBlock {
 public:
  explicit WorkingBlock(std::size_t examples) : slot_of_(examples, NO_EXAMPLE), wanted_(examples, 0) {}

  WorkingSet<T> hold(const Examples &chosen, KernelSource<T> &kernel) {
    for (const std::int32_t i : chosen)
      wanted_[i] = 1;
    for (std::int32_t &occupant : example_)
      if (occupant != NO_EXAMPLE && !wanted_[occupant]) {
        slot_of_[occupant] = NO_EXAMPLE;
        occupant = NO_EXAMPLE;
      }
    for (const std::int32_t i : chosen)
      wanted_[i] = 0;
    const std::size_t need = padded(chosen.size(), CACHE_LINE / sizeof(float));
    if (need > stride() || 2 * need + 256 < stride())
      resize(need);
    settle(chosen);
    fill(kernel);
    WorkingSet<T> slots{example_, {}};
    for (std::size_t slot = 0; slot < stride(); ++slot)
      slots.rows.push_back(block_.data() + slot * stride());
    return slots;
  }

 private:
  using Block = std::vector<T, LargePageAllocator<T>>; // its columns are many small pages apart

  std::size_t stride() const { return example_.size(); }

  struct Slot {
    std::int32_t example;
    std::size_t slot;
  };

  void resize(std::size_t stride) {
    std::vector<Slot> kept = occupied();
    Block block(stride * stride, T(0));
    for (std::size_t k = 0; k < kept.size(); ++k)
      for (std::size_t l = 0; l < kept.size(); ++l)
        block[k * stride + l] = block_[kept[k].slot * this->stride() + kept[l].slot];
    example_.assign(stride, NO_EXAMPLE);
    for (std::size_t k = 0; k < kept.size(); ++k) {
      example_[k] = kept[k].example;
      slot_of_[kept[k].example] = static_cast<std::int32_t>(k);
    }
    block_ = std::move(block);
  }

  void settle(const Examples &chosen) {
    newcomers_.clear();
    std::size_t slot = 0;
    for (const std::int32_t i : chosen) {
      if (slot_of_[i] != NO_EXAMPLE)
        continue;
      while (example_[slot] != NO_EXAMPLE)
        ++slot;
      example_[slot] = i;
      slot_of_[i] = static_cast<std::int32_t>(slot);
      newcomers_.push_back(i);
    }
  }

  std::vector<Slot>
  occupied() const { // in the order of the examples, which is the order of the memory they are read from
    std::vector<Slot> slots;
    for (std::size_t slot = 0; slot < example_.size(); ++slot)
      if (example_[slot] != NO_EXAMPLE)
        slots.push_back({example_[slot], slot});
    std::sort(slots.begin(), slots.end(), [](const Slot &a, const Slot &b) { return a.example < b.example; });
    return slots;
  }

  void fill(KernelSource<T> &kernel) {
    if (newcomers_.empty())
      return;
    const std::vector<Slot> slots = occupied();
    Examples others;
    for (const Slot &slot : slots)
      others.push_back(slot.example);
    buffer_.resize(batch * others.size());
    for (std::size_t start = 0; start < newcomers_.size(); start += batch) {
      const std::size_t stop = std::min(newcomers_.size(), start + batch);
      const Examples some(newcomers_.begin() + start, newcomers_.begin() + stop);
      kernel.cross(some, others, buffer_.data());
      for (std::size_t k = 0; k < some.size(); ++k) {
        T *row = block_.data() + slot(some[k]) * stride();
        for (std::size_t l = 0; l < slots.size(); ++l)
          row[slots[l].slot] = buffer_[k * slots.size() + l];
      }
      mirror(some, slots);
    }
  }

  // The newcomers' columns. In tiles: written whole, every number of a column would be a cache line of its own.
  void mirror(const Examples &some, const std::vector<Slot> &slots) {
    for (std::size_t from = 0; from < slots.size(); from += tile) {
      const std::size_t to = std::min(slots.size(), from + tile);
      for (std::size_t k = 0; k < some.size(); ++k) {
        const T *values = buffer_.data() + k * slots.size();
        for (std::size_t l = from; l < to; ++l)
          block_[slots[l].slot * stride() + slot(some[k])] = values[l];
      }
    }
  }

  std::size_t slot(std::int32_t example) const { return static_cast<std::size_t>(slot_of_[example]); }

  static constexpr std::size_t batch = 64, tile = 16;
  Examples example_, slot_of_, newcomers_;
  std::vector<unsigned char> wanted_;
  Block block_;
  std::vector<T> buffer_;
};

} // namespace steelyard
