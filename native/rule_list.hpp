// What is derived from a list of rules: the sub-lists that loops are compiled for, and a rule from its name and
// numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "clones.hpp"

namespace steelyard {

// Becomes whatever the field of a rule is: a number, a count or a flag.
struct Parameter {
  double value;
  operator double() const { return value; }
  operator std::uint64_t() const { // the nearest count
    return !(value > 0) ? 0 : value < 0x1.0p64 ? static_cast<std::uint64_t>(value) : UINT64_MAX;
  }
  operator bool() const { return value != 0; }
};

template <class Rule, std::size_t... at>
auto made_of(const std::vector<double> &numbers, std::index_sequence<at...>)
    -> decltype(Rule{Parameter{numbers[at]}...}) {
  return Rule{Parameter{numbers[at]}...};
}

template <class Rule, std::size_t count, class = void> constexpr bool takes = false;
template <class Rule, std::size_t count>
constexpr bool
    takes<Rule, count, std::void_t<decltype(made_of<Rule>(std::vector<double>(), std::make_index_sequence<count>()))>> =
        true;

// How many fields a rule has.
template <class Rule, std::size_t most = 4> constexpr std::size_t parameters() {
  if constexpr (most == 0 || takes<Rule, most>)
    return most;
  else
    return parameters<Rule, most - 1>();
}

// The rules of a list for which `Holds<Rule>::value`, as a std::variant.
template <template <class> class Holds, class List> struct Chosen;
template <template <class> class Holds, class... Rules> struct Chosen<Holds, std::tuple<Rules...>> {
  template <class... Some> static std::variant<Some...> *variant_of(const std::tuple<Some...> *);
  using List = decltype(std::tuple_cat(
      std::declval<std::conditional_t<Holds<Rules>::value, std::tuple<Rules>, std::tuple<>>>()...));
  using type = std::remove_pointer_t<decltype(variant_of(static_cast<List *>(nullptr)))>;
};

// The rule of this name, as the alternative of `Any`, a variant of rules; false if it has none of this name.
template <class Any, std::size_t at = 0>
bool find_rule(const std::string &name, const std::vector<double> &numbers, Any &found) {
  if constexpr (at < std::variant_size_v<Any>) {
    using Rule = std::variant_alternative_t<at, Any>;
    if (name != Rule::name)
      return find_rule<Any, at + 1>(name, numbers, found);
    if (numbers.size() != parameters<Rule>())
      throw std::invalid_argument("wrong number of parameters");
    found = made_of<Rule>(numbers, std::make_index_sequence<parameters<Rule>()>());
    return true;
  } else {
    return false;
  }
}

// std::visit without its table of function pointers, which would keep the rules from being inlined into the loop. The
// alternative is the same in every round of a loop, so its branches are always guessed.
template <std::size_t at = 0, class Any, class Call>
STEELYARD_INLINED inline auto with_rule(const Any &any, const Call &call) {
  if constexpr (at + 1 < std::variant_size_v<Any>)
    if (any.index() != at)
      return with_rule<at + 1>(any, call);
  const auto *rule = std::get_if<at>(&any);
  if (rule == nullptr) // never: without saying so, the last rule of a list would be asked for once more
    __builtin_unreachable();
  return call(*rule);
}

} // namespace steelyard
