"""One fitted object of every kind that a `.steelyard` file may hold, with rows to ask it about."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC

import steelyard as sy
from steelyard.costs.spec import CostSpec
from steelyard.decision.blending import AnswerClassifier, BlendClassifier, ScoredClassifier
from steelyard.decision.calibration import CalibratedClassifier
from steelyard.models.cells import DateParts, TargetMeans, TextWords
from steelyard.models.encoders import Dense
from steelyard.models.model import Model
from steelyard.models.records import RecordEncoder
from steelyard.models.schema import Columns
from steelyard.models.stream_state import StreamState
from steelyard.models.training import TrainingSummary, summarize

RNG = np.random.default_rng(0)
N = 60
X = RNG.normal(size=(N, 4))
X[:, 3] = RNG.integers(0, 5, N)
HOLES = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
Y2 = np.where(X[:, 0] + 0.3 * RNG.normal(size=N) > 0, "yes", "no")
Y3 = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.4, 0.4])]
PARITY = np.where(np.isin(X[:, 3], [1, 3]), "odd", "even")
CODES = (Y2 == "yes").astype(int)
FRAME = pd.DataFrame({"u": X[:, 0], "v": HOLES[:, 1], "w": RNG.choice(["red", "blue", "rare"], N, p=[0.5, 0.47, 0.03])})
NEW = np.vstack([X[:20], np.full((2, 4), np.nan), 1e6 * X[:3]])
LEAVES: dict[str, Any] = {"n_estimators": 6, "num_leaves": 5, "min_child_samples": 3, "verbose": -1, "num_threads": 1}
SETS = LEAVES | {"min_data_per_group": 2, "cat_smooth": 1, "max_cat_to_onehot": 1, "min_data_in_leaf": 2}
SPARSE = sparse.csr_matrix(np.where(np.abs(X) > 0.5, X, 0.0))

DATES = pd.DataFrame({"on": [f"2024-0{1 + i % 9}-1{i % 7}" if i % 11 else None for i in range(N)]})
TEXTS = pd.DataFrame({"note": [f"paid {'late' if c else 'on time'} to shop {i % 5}" for i, c in enumerate(CODES)]})


def _blend() -> Any:
    members = [(str(C), LogisticRegression(C=C).fit(X, CODES)) for C in (0.1, 1.0)]
    return BlendClassifier(members, np.array([0.4, 0.6]), np.array(["no", "yes"]))


def _columns() -> Any:
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    levels = OneHotEncoder(
        handle_unknown="infrequent_if_exist", min_frequency=2, max_categories=40, sparse_output=False
    )
    return ColumnTransformer([("numeric", numbers, ["u", "v"]), ("nominal", levels, ["w"])])


def _coded() -> Any:
    levels = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan)
    return ColumnTransformer([("numeric", "passthrough", ["u", "v"]), ("nominal", levels, ["w"])])


def _logistic(y: Any = Y2) -> Any:
    return LogisticRegression().fit(X, y)


def _calibrated() -> Any:
    model = RandomForestClassifier(5, random_state=0).fit(X, Y3)
    return CalibratedClassifier(model).fit(model.predict_proba(X), Y3)


def _online(kind: type, codes: Any, **settings: Any) -> Any:
    learner = kind(fit_intercept=True, seed=3, **settings)
    learner.run(X, codes)
    return learner


def _scaler() -> Any:
    scaler = sy.StreamScaler(unit_norm=True)
    scaler.run(X)
    return scaler


def _encoder() -> Any:
    encoder = RecordEncoder("standard", None, text=["d"]).begin(("a", "b", "c", "d"))
    encoder.scaler = _scaler()
    return encoder


def _model() -> Any:
    columns = Columns(("u", "v"), ("w",), {"id": "an identifier"})
    costs = sy.Costs.binary(fn=5, fp=1, classes=["no", "yes"], positive="yes", currency="EUR").with_abstain(2.0)
    spec = CostSpec(fn="stake", fp=1.0, abstain="fee", positive="yes")
    training = summarize(
        FRAME, costs.encode(Y2), 2, columns, cost_spec=spec, card={"seed": 0, "classes": ["no", "yes"]}
    )
    fitted = make_pipeline(_columns(), LogisticRegression()).fit(FRAME, Y2)
    return Model("logistic regression", fitted, columns, costs, training)


def _state() -> Any:
    learner = _online(sy.OnlineClassifier, CODES)
    return StreamState(learner, _encoder(), ("no", "yes"), np.array([[20, 3], [4, 33]]), {"bytes": 17})


def _expected() -> Any:
    return sy.ExpectedCostClassifier(FrozenEstimator(_logistic()), costs=[[0, 1], [5, 0]]).fit(X, Y2)


def _threshold() -> Any:
    return FixedThresholdClassifier(
        FrozenEstimator(_logistic()), threshold=0.3, pos_label="yes", response_method="predict_proba"
    ).fit(X, Y2)


def _mixed() -> Any:
    return np.column_stack([X[:, :2].astype(object), FRAME.w.to_numpy(dtype=object)])


def _tree() -> Any:
    return sy.C45Classifier(min_obj=1).fit(_mixed(), Y3)


def _reduction(kind: type, base: Any = None) -> Any:
    return (kind() if base is None else kind(base)).fit(X, Y3)


def _resampled() -> Any:
    from imblearn.over_sampling import SMOTE
    from imblearn.pipeline import make_pipeline as make_resampling_pipeline

    return make_resampling_pipeline(SMOTE(random_state=0), LogisticRegression()).fit(X, Y2)


def _balanced() -> Any:
    from imblearn.ensemble import BalancedRandomForestClassifier

    return BalancedRandomForestClassifier(5, random_state=0).fit(X, Y3)


MAKERS: dict[str, tuple[Callable[[], Any], Any]] = {
    "C4.5": (_tree, _mixed()),
    "AdaC2.M1": (lambda: sy.AdaC2M1Classifier(sy.C45Classifier(), n_estimators=4).fit(_mixed(), Y3), _mixed()),
    "AdaBoost.M1 on logistic": (lambda: sy.AdaBoostM1Classifier(LogisticRegression(), 3).fit(X, Y3), X),
    **{
        kind.__name__: (lambda kind=kind: kind(n_estimators=3).fit(X, Y2), X)
        for kind in (
            sy.AdaBoostM1Classifier,
            sy.AdaC1Classifier,
            sy.AdaC2Classifier,
            sy.AdaC3Classifier,
            sy.AdaCostClassifier,
            sy.CSB0Classifier,
            sy.CSB1Classifier,
            sy.CSB2Classifier,
        )
    },
    "random forest": (lambda: RandomForestClassifier(5, random_state=0).fit(HOLES, Y3), NEW),
    "extra trees": (lambda: ExtraTreesClassifier(5, max_leaf_nodes=9, random_state=0).fit(X, Y2), NEW),
    "forest on sparse rows": (lambda: RandomForestClassifier(5, random_state=0).fit(SPARSE, Y2), SPARSE),
    "balanced forest": (_balanced, X),
    "boosting": (lambda: HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5).fit(HOLES, Y2), NEW),
    "boosting by categories": (
        lambda: HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5, categorical_features=[3]).fit(X, PARITY),
        NEW,
    ),
    "LightGBM": (lambda: LGBMClassifier(**LEAVES).fit(HOLES, Y2), NEW),
    "LightGBM by categories": (
        lambda: LGBMClassifier(**SETS).fit(X, PARITY, categorical_feature=[3]),
        NEW,
    ),
    "logistic": (_logistic, X),
    "logistic of three": (lambda: _logistic(Y3), X),
    "linear SVC": (lambda: LinearSVC().fit(X, Y3), X),
    "constant": (lambda: DummyClassifier(strategy="constant", constant="no").fit(X, Y2), X),
    "prior": (lambda: DummyClassifier(strategy="prior").fit(X, Y3), X),
    "pipeline": (lambda: make_pipeline(_columns(), LogisticRegression()).fit(FRAME, Y2), FRAME),
    "resampling pipeline": (_resampled, X),
    "columns": (lambda: _columns().fit(FRAME), FRAME),
    "coded columns": (lambda: _coded().fit(FRAME), FRAME),
    "one-hot": (lambda: OneHotEncoder(handle_unknown="ignore").fit(FRAME[["w"]]), FRAME[["w"]]),
    "ordinal": (lambda: OrdinalEncoder().fit(FRAME[["w"]]), FRAME[["w"]]),
    "dense": (lambda: Dense().fit(SPARSE), SPARSE),
    "identity": (lambda: FunctionTransformer(accept_sparse=True).fit(SPARSE), SPARSE),
    "imputer": (lambda: SimpleImputer(strategy="median", add_indicator=True).fit(HOLES), HOLES),
    "standard": (lambda: StandardScaler().fit(X), X),
    "min max": (lambda: MinMaxScaler().fit(X), X),
    "max abs": (lambda: MaxAbsScaler().fit(SPARSE), SPARSE),
    "normalizer": (lambda: Normalizer().fit(X), X),
    "frozen": (lambda: FrozenEstimator(_logistic()), X),
    "threshold": (_threshold, X),
    "calibrated": (_calibrated, X),
    "expected cost": (_expected, X),
    "costs": (lambda: sy.Costs.from_matrix([[0, 1], [5, 0]], classes=["no", "yes"], positive="yes"), None),
    "online": (lambda: _online(sy.OnlineClassifier, CODES, update=sy.AROW()), X),
    "online costs": (lambda: _online(sy.OnlineCostClassifier, np.digitize(X[:, 0], [-0.4, 0.4])), X),
    "stream scaler": (_scaler, X),
    "hasher": (lambda: sy.RecordHasher(64), FRAME),
    "record encoder": (_encoder, None),
    "CS-SVM": (lambda: sy.CSSVMClassifier().fit(X, Y2), X),
    "CS-SVM on sparse rows": (lambda: sy.CSSVMClassifier(kernel="linear").fit(SPARSE, Y2), SPARSE),
    "one-sided SVR": (lambda: sy.OneSidedSVR().fit(X, X[:, 0]), X),
    "CS-LDM": (lambda: sy.CSLDMClassifier().fit(X, Y2), X),
    "kernel CS-LDM": (lambda: sy.CSLDMClassifier(kernel="rbf").fit(X, Y2), X),
    "SVC": (lambda: SVC().fit(X, Y2), X),
    "SVC of three": (lambda: SVC().fit(X, Y3), X),
    **{
        kind.__name__: (lambda kind=kind: _reduction(kind), X)
        for kind in (
            sy.AllPairsClassifier,
            sy.AllPairsClassifierCV,
            sy.FilterTreeClassifier,
            sy.FilterTreeClassifierCV,
            sy.OneSidedClassifier,
            sy.OneSidedClassifierCV,
            sy.OneVsAllClassifier,
            sy.OneVsAllClassifierCV,
            sy.SECOCClassifier,
            sy.SECOCClassifierCV,
        )
    },
    "one-vs-all of logistic": (lambda: _reduction(sy.OneVsAllClassifier, LogisticRegression()), X),
    "kernel machines": (lambda: _reduction(sy.OneVsAllClassifier).solution_, X),
    "solutions": (lambda: _reduction(sy.OneVsAllClassifier, LogisticRegression()).solution_, X),
    "blend": (_blend, X),
    "answers": (lambda: AnswerClassifier(LinearSVC(random_state=0).fit(X, CODES)), X),
    "scored": (lambda: ScoredClassifier(LinearSVC(random_state=0).fit(X, CODES)), X),
    "dates": (lambda: DateParts().fit(DATES), DATES),
    "target means": (lambda: TargetMeans().fit(FRAME[["w"]], CODES), FRAME[["w"]]),
    "words": (lambda: TextWords(20).fit(TEXTS), TEXTS),
    "model": (_model, FRAME),
    "stream state": (_state, None),
}


@cache
def made(name: str) -> Any:
    """The object of this name, fitted once: no test may change it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MAKERS[name][0]()


def answers(thing: Any, rows: Any, like: Any = None) -> list[Any]:
    """Everything that an object says of rows, as plain arrays; with ``like``, what that one says alone.

    A model of a file may say more than the one it was made of: LightGBM has a ``decision_function`` since 4.7.
    """
    if isinstance(thing, StreamState):
        return [*answers(thing.learner, X), *answers(thing.encoder, None), thing.labels, thing.counts, thing.log]
    if isinstance(thing, RecordEncoder):
        scaled = None if thing.scaler is None else thing.scaler.transform(X)
        return [thing.scale, thing.hash_bits, thing.columns, thing.nominal, thing.text, thing.url, scaled]
    if isinstance(thing, sy.Costs):
        return [thing.classes, thing.matrix, thing.positive, thing.currency, thing.abstain, thing.abstain_label]
    if isinstance(thing, TrainingSummary):
        return [thing.shares, thing.medians, thing.lows, thing.highs, thing.levels, thing.cost_spec, thing.card]
    if isinstance(thing, Model):
        decided = [thing.predict(rows, typical=True), thing.expected_cost(rows, typical=True)]
        return [*decided, *answers(thing.training, rows)]
    found = []
    for method in ("predict", "predict_proba", "decision_function", "transform", "scores"):
        if hasattr(thing if like is None else like, method):
            told = getattr(thing, method)(rows)
            found += [told.data, told.indices, told.indptr, told.shape] if hasattr(told, "indptr") else [told]
    return found
