import numpy as np
from scipy.stats import multivariate_normal

from steelyard.data.gaussians import CENTRES, make_three_gaussians, rotating_costs, three_gaussians_posterior


def test_points_have_the_centres_and_variance_of_the_paper() -> None:
    X, y = make_three_gaussians(20_000, random_state=0)
    for k in range(3):
        np.testing.assert_allclose(X[y == k].mean(axis=0), CENTRES[k], atol=0.015)
        np.testing.assert_allclose(np.cov(X[y == k].T), 0.25 * np.eye(2), atol=0.01)


def test_posterior_is_bayes_theorem() -> None:
    X, _ = make_three_gaussians(20, random_state=1)
    density = np.column_stack([multivariate_normal(c, 0.25 * np.eye(2)).pdf(X) for c in CENTRES])
    np.testing.assert_allclose(three_gaussians_posterior(X), density / density.sum(axis=1, keepdims=True))
    assert np.isfinite(three_gaussians_posterior(np.array([[1e4, 0.0]]))).all()


def test_the_bayes_rule_costs_what_it_should() -> None:
    X, y = make_three_gaussians(100_000, random_state=0)
    costs = rotating_costs()
    exact = costs.expected(three_gaussians_posterior(X)).min(axis=1).mean()
    assert abs(exact - 1.224) < 0.01
    paid = costs.per_example(y)[np.arange(len(y)), costs.decide(three_gaussians_posterior(X))]
    assert abs(paid.mean() - exact) < 3 * paid.std() / len(y) ** 0.5
