"""Every public rule with drawn parameters: the laws walk the public names and the declared ranges, no list by hand."""

from typing import Any, TypeVar

from hypothesis import strategies as st

import steelyard
from steelyard import QueryRule, SecondOrderRule, UpdateRule
from steelyard.rules import Choice, Count, Domain, Flag, Interval, Rule

R = TypeVar("R", bound=Rule)
BASES = (Rule, UpdateRule, SecondOrderRule, QueryRule)


def public(base: type[R]) -> list[type[R]]:
    """The public rules of a kind."""
    found = [getattr(steelyard, name) for name in steelyard.__all__]
    return [cls for cls in found if isinstance(cls, type) and issubclass(cls, base) and cls not in BASES]


def values(domain: Domain) -> list[Any]:
    """Some values of a parameter, tame enough for a stream to stay finite."""
    if isinstance(domain, Flag):
        return [False, True]
    if isinstance(domain, Choice):
        return list(domain.words)
    if isinstance(domain, Count):
        return [0, 3]
    assert isinstance(domain, Interval)
    end = domain.below if domain.at_most is None else domain.at_most
    return [0.125, 0.3, 0.7, 1.5] if end is None else [domain.above + (end - domain.above) * f for f in (0.2, 0.4, 0.9)]


def drawn(base: type[R]) -> st.SearchStrategy[R]:
    """Any public rule of a kind with any of those values."""
    made = [
        st.builds(cls, **{name: st.sampled_from(values(domain)) for name, domain in cls.domains().items()})
        for cls in public(base)
    ]
    return st.one_of(made)


def first_order() -> st.SearchStrategy[UpdateRule]:
    """Update rules without a covariance."""
    return drawn(UpdateRule).filter(lambda rule: not isinstance(rule, SecondOrderRule))


def for_many_classes() -> st.SearchStrategy[UpdateRule]:
    """Update rules that say how far the weights of one class of many move."""
    return drawn(UpdateRule).filter(lambda rule: type(rule).class_step is not UpdateRule.class_step)
