// The update rules as the loop takes them: all rules of one kind behind one type, so that a loop is compiled once a
// kind and not once a rule.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "rule_list.hpp"
#include "second_order.hpp"
#include "updates.hpp"

namespace steelyard {

template <class Which> struct OfKind {
  template <class Rule> using Holds = std::is_same<typename Rule::Kind, Which>;
};

template <class Which, class List> struct RulesOf {
  using Kind = Which;
  static constexpr bool second_order = std::is_same_v<Which, SecondOrder>, x2 = Which::x2, w2 = Which::w2;
  typename Chosen<OfKind<Which>::template Holds, List>::type rule;
  template <class Input> STEELYARD_INLINED auto operator()(const Input &input) const {
    return with_rule(rule, [&](const auto &one) STEELYARD_INLINED { return one(input); });
  }
};

using SecondOrderRules = RulesOf<SecondOrder, SecondOrderUpdates>;
using UpdateKernel =
    std::variant<RulesOf<Additive, Updates>, RulesOf<AdditiveByFunction, Updates>, RulesOf<AdditiveByNorm, Updates>,
                 RulesOf<AdditiveWithBias, Updates>, RulesOf<Scaling, Updates>, SecondOrderRules>;

inline bool scales_weights(const UpdateKernel &kernel) {
  return std::visit([](const auto &rules) { return std::decay_t<decltype(rules)>::Kind::scales; }, kernel);
}

// Any rule but the second-order ones as one type, for a single row: there a call more does not count.
class FirstOrderRule {
 public:
  explicit FirstOrderRule(const UpdateKernel &kernel)
      : x2(std::visit([](const auto &rules) { return rules.x2; }, kernel)),
        w2(std::visit([](const auto &rules) { return rules.w2; }, kernel)), kernel_(kernel) {}
  __attribute__((noinline)) Step operator()(const UpdateInput &input) const {
    const auto step_of = [&](const auto &rules) {
      if constexpr (std::decay_t<decltype(rules)>::second_order)
        return Step{};
      else
        return rules(input);
    };
    return std::visit(step_of, kernel_);
  }
  const bool x2, w2;

 private:
  const UpdateKernel &kernel_;
};

// None if no rule has this name.
template <std::size_t at = 0>
std::optional<UpdateKernel> update_kernel(const std::string &name, const std::vector<double> &numbers) {
  if constexpr (at < std::variant_size_v<UpdateKernel>) {
    std::variant_alternative_t<at, UpdateKernel> kernel;
    if (find_rule(name, numbers, kernel.rule))
      return kernel;
    return update_kernel<at + 1>(name, numbers);
  } else {
    return std::nullopt;
  }
}

// The rules that say how far the weights of one class of many move. Their loop chooses at every class: its score
// outweighs that.
template <class Rule, class = void> struct HasClassStep : std::false_type {};
template <class Rule> struct HasClassStep<Rule, std::void_t<decltype(&Rule::class_step)>> : std::true_type {};

using ClassRule = Chosen<HasClassStep, Updates>::type;

inline bool needs_norm(const ClassRule &any) {
  return with_rule(any, [](const auto &rule) { return std::decay_t<decltype(rule)>::Kind::x2; });
}

inline double class_step(const ClassRule &any, const ClassInput &input) {
  return with_rule(any, [&](const auto &rule) { return rule.class_step(input); });
}

} // namespace steelyard
