"""A model file may come from anybody: it never runs code, crashes, loops, eats memory or touches another file."""

from __future__ import annotations

import copy
import io
import json
import os
import resource
import struct
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from limited import limit_time
from safetensors.numpy import save

from steelyard import AdaBoostM1Classifier, C45Classifier, errors
from steelyard.cli import main
from steelyard.comparison.data import read_data
from steelyard.comparison.registry import candidates
from steelyard.files import Node, read_container, reading, write_container, write_labels
from steelyard.models.kinds import TABLE, c45, read_node, write_node
from steelyard.models.kinds.nodes import depth_of
from steelyard.models.storage import load_model, save_object

MUTATIONS = 2000
MEMORY = 512 << 20  # above what the process had
SECONDS = 10  # of processor time


def walk(node: Node) -> Iterator[Node]:
    yield node
    for part in node.parts:
        yield from walk(part)


# -- honest files ----------------------------------------------------------------------------------------------------


def equal(first: Any, second: Any) -> bool:
    a, b = np.asarray(first), np.asarray(second)
    if a.dtype.kind == "f" and a.shape == b.shape:
        return np.allclose(a, b, rtol=1e-12, atol=1e-12, equal_nan=True)
    return np.array_equal(a, b)


def test_every_kind_is_read_as_it_was_written(samples, tmp_path):
    for name, (_, rows) in samples.MAKERS.items():
        thing = samples.made(name)
        path = save_object(thing, tmp_path / "m.steelyard")
        loaded = load_model(path)
        said, wanted = samples.answers(loaded, rows, thing), samples.answers(thing, rows)
        assert len(said) == len(wanted), name
        assert all(map(equal, said, wanted)), name
        assert save_object(loaded, tmp_path / "again").read_bytes() == path.read_bytes(), name


def test_every_kind_of_the_table_has_a_sample(samples):
    written = {node.kind for name in samples.MAKERS for node in walk(write_node(samples.made(name)))}
    assert written == set(TABLE)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("rows", ["frame", "sparse"])
def test_every_candidate_is_made_of_kinds_of_the_table(samples, rows, classes):
    """Each is fitted on a few rows, and its rows and its learner are written."""
    data = read_data(
        samples.FRAME if rows == "frame" else samples.SPARSE, samples.Y2 if classes == 2 else samples.Y3, None
    )
    encoders: dict[str, Any] = {}
    for candidate in candidates():
        if candidate.unable(data) is not None:
            continue
        if candidate.encoder not in encoders:
            encoder = candidate.new_encoder(data)
            encoders[candidate.encoder] = encoder.fit_transform(data.X, data.codes)
            write_node(encoder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a few rows do not converge
            write_node(candidate.fit(encoders[candidate.encoder], data)[0])


# -- code ------------------------------------------------------------------------------------------------------------

DOORS = [
    ("sklearn.utils._testing", "check_output", [["touch", "canary"]]),
    ("sklearn.datasets._lfw", "remove", ["kept"]),
    ("sklearn.datasets._base", "urlretrieve", ["file:///etc/hostname", "canary"]),
    ("sklearn.utils.discovery", "import_module", ["payload"]),
    ("builtins", "exec", ["open('canary', 'w')"]),
    ("os", "system", ["touch canary"]),
    ("steelyard.reproduction.runs", "subprocess", []),
]


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def format_1(module: str, function: str, arguments: list[Any]) -> dict[str, bytes]:
    """What earlier versions ran: a skops archive whose node calls a function."""
    node = {
        "__class__": function,
        "__module__": module,
        "__loader__": "ConstructorFromReduceNode",
        "content": arguments,
    }
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("schema.json", json.dumps(node))
    about = {"format": 1, "steelyard": "0.1.0", "name": "x", "numeric": ["a"], "nominal": [], "left_out": {}}
    about |= {"sparse": False, "classes": [0, 1], "costs": [[0, 1], [1, 0]], "positive": None}
    return {"model.json": json.dumps(about).encode(), "estimator.skops": inner.getvalue()}


def format_2(**changes: Any) -> dict[str, bytes]:
    node = {"format": 2, "steelyard": "0.2", "kind": "Model/1", "params": {}, "arrays": {}, "parts": []} | changes
    return {"model.json": json.dumps(node).encode(), "arrays.safetensors": save({})}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a file to lose and a module to be run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kept").write_text("the user's own")
    (tmp_path / "payload.py").write_text("open('canary', 'w')")
    yield tmp_path
    assert (tmp_path / "kept").read_text() == "the user's own"
    found = {path.name for path in tmp_path.iterdir()} - {".evil.steelyard.lock"}  # a stream locks its state first
    assert found == {"evil.steelyard", "kept", "payload.py"}


@pytest.mark.parametrize(("module", "function", "arguments"), DOORS)
def test_no_file_calls_a_function(folder, module, function, arguments):
    zipped(folder / "evil.steelyard", format_1(module, function, arguments))
    with pytest.raises(errors.StateError, match="was written by format 1; this version reads 2: run compare again"):
        load_model("evil.steelyard")
    name = f"{module}.{function}"
    said = rf"evil\.steelyard cannot be trusted: it names '{name}', which no Steelyard model contains\. Nothing was run"
    inner = {"kind": name, "params": {"args": arguments}, "arrays": {}, "parts": []}
    for tree in (format_2(kind=name), format_2(kind="Pipeline/1", params={"names": ["a"]}, parts=[inner])):
        zipped(folder / "evil.steelyard", tree)
        with pytest.raises(errors.StateError, match=said):
            load_model("evil.steelyard")
    assert "payload" not in sys.modules


@pytest.mark.parametrize("rule", ["draw", "Budget.of", "os.system", "random_costs", "Costs.from_file", "__class__", 7])
def test_a_learner_names_rules_and_nothing_else(samples, folder, rule):
    node = write_node(samples.made("online"))
    node.params["params"]["update"] = {"use": rule, "path": "kept"}
    write_container(folder / "evil.steelyard", node, version="0")
    with pytest.raises(errors.StateError, match="must use rules of this library"):
        load_model("evil.steelyard")


@pytest.mark.parametrize(
    "words",
    [
        ["predict", "evil.steelyard", "kept"],
        ["stream", "kept", "--format", "csv", "--target", "y", "--state", "evil.steelyard"],
    ],
)
def test_the_command_line_refuses_in_one_line_and_ends_with_2(folder, monkeypatch, capsys, words):
    zipped(folder / "evil.steelyard", format_2(kind="sklearn.utils._testing.check_output"))
    monkeypatch.setattr(sys, "argv", ["steelyard", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert "Traceback" not in said
    assert "cannot be trusted: it names 'sklearn.utils._testing.check_output'" in " ".join(said.split())


# -- arrays ----------------------------------------------------------------------------------------------------------


def changed(node: Node, name: str, change: Callable[[Any], Any]) -> Node:
    """The same tree with one array of the first node that has it changed."""
    if name in node.arrays:
        return replace(node, arrays=node.arrays | {name: change(node.arrays[name].copy())})
    parts = list(node.parts)
    for k, part in enumerate(parts):
        if any(name in each.arrays for each in walk(part)):
            parts[k] = changed(part, name, change)
            break
    return replace(node, parts=parts)


def put(value: Any, at: Any = 0) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array[at] = value
        return array

    return change


TREES = ["C4.5", "AdaC2.M1"]
FORESTS = ["random forest", "extra trees", "boosting", "boosting by categories", "LightGBM", "LightGBM by categories"]
HOSTILE = [
    *((name, "column", put(10**9), "hold column") for name in (*TREES, *FORESTS)),
    *((name, "column", put(-2), "hold column") for name in (*TREES, *FORESTS)),
    *((name, "first_child", put(10**9), "within its tree") for name in TREES),
    *((name, "first_child", put(0), "behind its parent") for name in TREES),
    *((name, "first_child", put(-5), "behind its parent") for name in TREES),
    *((name, "n_children", put(2**31 - 1), "n_children") for name in TREES),
    *((name, "n_children", put(0), "n_children") for name in TREES),
    *((name, "test", put(9), "test") for name in TREES),
    *((name, "test", put(0), "column|n_children") for name in TREES),
    *((name, "weight", put(0.0), "weight") for name in TREES),
    *((name, "weight", put(-1.0), "weight") for name in TREES),
    *((name, "weight", put(np.nan), "weight") for name in TREES),
    *((name, "weight", lambda a: a[:-1], "weight") for name in TREES),
    *((name, "threshold", lambda a: a[:-1], "threshold") for name in (*TREES, *FORESTS)),
    *((name, "tree_ends", put(10**9, -1), "tree_ends") for name in (*TREES, *FORESTS)),
    *((name, "tree_ends", lambda a: a[:0], "tree_ends") for name in (*TREES, *FORESTS)),
    *((name, "left", put(10**9), "within its tree") for name in FORESTS),
    *((name, "right", put(10**9), "within its tree") for name in FORESTS),
    *((name, "left", put(0), "behind its parent") for name in FORESTS),
    *((name, "left", put(-1), "behind its parent") for name in FORESTS),
    *((name, "values", put(np.inf), "values") for name in FORESTS),
    *((name, "values", put(1.7e308, slice(None)), "positive finite sum") for name in FORESTS[:2]),
    *((name, "flags", put(255), "flags") for name in FORESTS),
    *((name, "threshold", put(np.nan), "threshold") for name in FORESTS),
    ("AdaBoost.M1 on logistic", "votes", put(1.7e308, slice(None)), "positive finite sum"),
    ("AdaC2.M1", "votes", put(0.0, slice(None)), "positive finite sum"),
    ("LightGBM by categories", "set_ends", put(10**6, -1), "set_ends"),
    ("boosting by categories", "set_ends", put(-1), "set_ends"),
    ("SVC", "n_support", put(10**6), "n_support"),
    ("SVC", "dual_coef", lambda a: a[:, :-1], "dual_coef"),
    ("SVC", "support_vectors", lambda a: a[:, :-1], "shape|n_features_in_"),
    ("CS-SVM on sparse rows", "support_vectors.indices", put(10**6), "indices"),
    ("CS-SVM on sparse rows", "support_vectors.indptr", put(10**6, -1), "indptr"),
    ("logistic", "coef", lambda a: a[:, :-1], "n_features_in_|coef"),
    ("logistic", "coef", put(np.nan), "coef"),
    ("one-hot", "codes.0", put(10.0), "codes"),
    ("online", "weights", lambda a: a[:-1], "weights"),
    *((name, "scale_", put(0.0), "scale_") for name in ("standard", "min max", "max abs")),
    ("online costs", "coef", lambda a: a[:-1], "weights for each"),
    ("FilterTreeClassifier", "tournament", put(7), "tournament"),
    ("FilterTreeClassifier", "tournament", put(-1), "tournament"),
    ("costs", "matrix", put(np.nan), "matrix"),
    ("costs", "matrix", lambda a: np.zeros((3, 3)), "matrix"),
    ("costs", "classes.ends", put(9), "classes"),
    ("model", "feature_names_in_.ends", lambda a: a[:-1], "ends"),
    ("costs", "classes.ends", lambda a: np.concatenate([np.zeros(1 << 20, np.int64), a]), "at most 1,048,576 entries"),
    ("costs", "classes.text", lambda a: np.zeros(1 << 27, np.uint8), "fits, with all other labels"),
    ("a stream's learner", "classes", lambda a: np.arange(2 << 20), "at most 1,048,576 entries"),
    ("C4.5", "tree_ends", lambda a: np.ones(80_000, np.int64), "at most 65,536 trees"),
    ("stream state", "counts", put(-1), "counts"),
    ("a stream's learner", "classes", lambda a: a.astype(np.float64), "classes 0, 1"),
    ("a stream's learner", "classes", lambda a: a.astype(bool), "classes 0, 1"),
    ("stream state", "counts", lambda a: np.zeros((3, 3), np.int64), "counts"),
]


@pytest.mark.parametrize(("name", "array", "change", "said"), HOSTILE, ids=lambda v: v if isinstance(v, str) else "")
def test_hostile_arrays_are_refused_before_native_code_sees_them(samples, tmp_path, name, array, change, said):
    node = write_node(samples.made("stream state" if name == "a stream's learner" else name))
    if name == "a stream's learner":
        node = replace(node, parts=[changed(node.parts[0], array, change), *node.parts[1:]])
    else:
        node = changed(node, array, change)
    path = write_container(tmp_path / "evil.steelyard", node, version="0")
    with pytest.raises(errors.StateError, match=rf"evil\.steelyard.*({said})"):
        load_model(path)


@pytest.mark.parametrize("name", FORESTS)
def test_a_node_below_two_others_is_refused(samples, tmp_path, name):
    node = write_node(samples.made(name))
    twins = node.arrays | {"right": node.arrays["left"]}
    path = write_container(tmp_path / "evil", replace(node, arrays=twins), version="0")
    with pytest.raises(errors.StateError, match="one parent"):
        load_model(path)


def test_classes_are_distinct_and_belong_to_the_costs(samples, tmp_path):
    for classes in (np.array([1, 1]), np.array([[0, 1]]), np.array([0, 1, 2]), np.array([0.0, np.nan])):
        node = write_node(samples.made("costs"))
        arrays = {"matrix": node.arrays["matrix"], "classes": classes}
        path = write_container(tmp_path / "evil", replace(node, arrays=arrays), version="0")
        with pytest.raises(errors.StateError, match=r"classes|matrix"):
            load_model(path)


@pytest.mark.parametrize(
    ("name", "param", "value"),
    [
        ("costs", "positive", 7),
        ("costs", "positive", "yes"),
        ("model", "name", {"a": 1}),
        ("model", "name", None),
        ("model", "left_out", [["a"]]),
        ("logistic", "n_features_in_", 10**12),
        ("logistic", "n_features_in_", 5),
        ("logistic", "estimator", "sklearn.svm.SVC"),
        ("logistic", "C", {"__class__": "x"}),
        ("CS-SVM", "degree", 2**31 - 1),
        ("CS-SVM", "dtype", "object"),
        ("CS-SVM", "kernel", "__import__"),
        ("random forest", "link", "eval"),
        ("hasher", "n_features", 2**62),
        ("online", "counts", [-1, 60, 0, 52, 30]),
        ("online", "counts", [60.5, 60, 0, 52, 30]),
        ("online costs", "counts", [2**63] * 4),
        ("SECOCClassifier", "n_thresholds", 10**9),
    ],
)
def test_hostile_parameters_are_refused(samples, tmp_path, name, param, value):
    node = write_node(samples.made(name))
    path = write_container(tmp_path / "evil", replace(node, params=node.params | {param: value}), version="0")
    with pytest.raises(errors.StateError, match="must hold") as refused:
        load_model(path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("depth", [6, 28])
def test_pipelines_within_pipelines_are_refused_before_they_are_asked(samples, tmp_path, depth):
    """Each level triples what a question costs: thirty would never answer."""
    node = write_node(samples.made("logistic"))
    for _ in range(depth):
        node = Node("Pipeline/1", {"names": ["a"]}, {}, [node])
    path = write_container(tmp_path / "evil", node, version="0")
    with pytest.raises(errors.StateError, match="Pipeline/1 at most 4 times within itself"):
        load_model(path)


def test_a_chain_deeper_than_can_be_walked_is_refused(samples, tmp_path):
    """Every inner node has a leaf to its left and the next inner node to its right."""
    node, depth = write_node(samples.made("boosting")), 10_001
    n = 2 * depth + 1
    inner = np.arange(n) % 2 == 0
    inner[-1] = False
    arrays = node.arrays | {
        "left": inner.astype(np.int32),
        "right": 2 * inner.astype(np.int32),
        "column": np.zeros(n, np.int32),
        "threshold": np.zeros(n),
        "flags": np.zeros(n, np.uint8),
        "tree_ends": np.array([n]),
        "values": np.zeros((depth + 1, 1)),
    }
    path = write_container(tmp_path / "evil", replace(node, arrays=arrays), version="0")
    with pytest.raises(errors.StateError, match="at most 10000 nodes deep"):
        load_model(path)


def test_texts_that_take_more_memory_than_their_bytes_are_counted_over_the_whole_file(samples):
    """The widest text says how much each takes; a column of 20,000 is within the limit, and ten of them are not."""
    node = write_node(samples.made("target means"))
    widest = write_labels("levels", [*map(str, range(20_000)), "x" * 400])
    for columns, let_in in ((1, True), (10, False)):
        arrays = {"prior": node.arrays["prior"]}
        for j in range(columns):
            arrays |= {name.replace("levels", f"levels.{j}"): array for name, array in widest.items()}
            arrays[f"means.{j}"] = np.zeros((20_001, len(node.arrays["prior"])))
        whole = replace(node, params={"columns": columns}, arrays=arrays)
        parts = write_node(samples.made("pipeline"))
        for held in (whole, replace(parts, parts=[whole, *parts.parts[1:]])):
            with nullcontext() if let_in else pytest.raises(errors.StateError, match="fits, with all other labels"):
                read_node(held)


def test_trees_are_looked_at_together(samples, monkeypatch):
    """A look at each of many small or deep trees takes minutes; what is counted here is one for all of them."""
    looks = []
    monkeypatch.setattr(c45, "depth_of", lambda roots, children: looks.append(len(roots)) or depth_of(roots, children))
    boosted = AdaBoostM1Classifier(C45Classifier(min_obj=10), n_estimators=4).fit(samples.X, np.roll(samples.Y2, 7))
    node = write_node(boosted)
    looks.clear()
    read_node(node)
    assert looks == [len(node.arrays["tree_ends"])]
    assert looks[0] > 1


def test_the_largest_numbers_are_read_as_they_are(samples, tmp_path):
    """An imputer is fitted anew when it is read: the mean of two such numbers would be infinite."""
    node = changed(write_node(samples.made("imputer")), "statistics", put(1.7e308))
    loaded = load_model(
        write_container(tmp_path / "m", replace(node, params=node.params | {"strategy": "mean"}), version="0")
    )
    assert loaded.statistics_[0] == 1.7e308
    assert loaded.transform(np.full((1, 4), np.nan))[0, 0] == 1.7e308


def strange(answer: Any) -> tuple[bool, bool]:
    """Whether there is NaN, and whether there is an infinity, in what was answered."""
    values = np.asarray(answer)
    return (bool(np.isnan(values).any()), bool(np.isinf(values).any())) if values.dtype.kind == "f" else (False, False)


HUGE = (1e308, -1e308, 1e-308, 1e150, 1e-150)


def test_no_finite_number_of_a_file_makes_answers_nan_or_infinite(samples):
    """Such as overflow are refused when they are read, or the rows when they are asked about; none decides silently."""
    tried, wrong = 0, []
    for name, (_, rows) in samples.MAKERS.items():
        node = write_node(samples.made(name))
        wanted = samples.answers(read_node(node), copy.deepcopy(rows))
        for part in walk(node):
            for array in [array for array, cells in part.arrays.items() if cells.dtype.kind == "f"]:
                for value in HUGE:
                    cells = np.full_like(part.arrays[array], np.clip(value, *LIMITS[part.arrays[array].dtype.char]))
                    cells.flat[1::2] *= -1 if (part.arrays[array] < 0).any() else 1
                    evil = _replaced(node, part, replace(part, arrays=part.arrays | {array: cells}))
                    tried += 1
                    try:
                        with reading("evil"):
                            loaded = read_node(evil)
                        said = samples.answers(loaded, copy.deepcopy(rows))
                    except errors.SteelyardError:
                        continue
                    if [*map(strange, said)] != [*map(strange, wanted)]:
                        wrong.append(f"{name}: {array} of {part.kind} at {value:g}")
    assert tried > 1000
    assert not wrong, "\n".join(wrong[:20])


LIMITS = {char: (-0.9 * np.finfo(char).max, 0.9 * np.finfo(char).max) for char in "fd"}


def test_another_number_of_parts_is_refused(samples, tmp_path):
    node = write_node(samples.made("model"))
    for parts in ([], node.parts[:1], node.parts[::-1], [*node.parts, node.parts[0]], [node.parts[1]] * 2):
        path = tmp_path / "evil"
        try:
            write_container(path, replace(node, parts=parts), version="0")
            load_model(path)
        except errors.StateError:
            continue
        pytest.fail(f"{len(parts)} parts were taken")


def test_a_part_of_any_other_kind_is_refused_or_answers(samples):
    """Every kind that has parts, with each other kind as a part: it has what it will be asked for, or is refused."""
    nodes = {name: write_node(samples.made(name)) for name in samples.MAKERS}
    others = {node.kind: node for node in nodes.values()}
    tried, failed = set(), []
    for name, node in nodes.items():
        for parent in walk(node):
            for kind in others.keys() - {part.kind for part in parent.parts}:
                if not parent.parts or (parent.kind, kind) in tried:
                    continue
                tried.add((parent.kind, kind))
                strange = _replaced(node, parent, replace(parent, parts=[others[kind], *parent.parts[1:]]))
                try:
                    with reading("evil"):
                        loaded = read_node(strange)
                    with np.errstate(all="ignore"), warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        samples.answers(loaded, copy.deepcopy(samples.MAKERS[name][1]))
                except (errors.SteelyardError, ValueError):
                    continue
                except Exception as error:
                    failed.append(f"{kind} in {parent.kind}: {type(error).__name__}: {error}")
    assert len(tried) > 1000
    assert not failed, "\n".join(failed[:20])


# -- bombs and children with limits ----------------------------------------------------------------------------------


def in_child(work: Callable[[], Any]) -> tuple[int, str]:
    """Run in a forked child with little memory and time; how it ended, and the last it wrote."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.write(write, str(work()).encode()[-4000:])
            os._exit(0)
        except BaseException as error:
            os.write(write, f"{type(error).__name__}: {error}".encode()[-4000:])
            os._exit(1)
    os.close(write)
    said = b""
    with open(read, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return status, said.decode(errors="replace")


def refused(path: Path) -> str:
    limit_time(SECONDS)
    try:
        load_model(path, max_bytes=64 << 20)  # the child may not have the gigabyte of the default
    except errors.StateError as error:
        return f"StateError: {error}"
    return "loaded"


def npy_claiming(n: int) -> bytes:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({n},), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()


def tensors_claiming(n: int, cells: int) -> bytes:
    text = json.dumps({"0": {"dtype": "U8", "shape": [n], "data_offsets": [0, n]}}).encode()
    return struct.pack("<Q", len(text)) + text + bytes(cells)


def many_members(path: Path) -> Path:
    return zipped(path, {f"{i}": b"" for i in range(20_000)})


BOMBS: dict[str, Callable[[Path], Path]] = {
    "200 MB of arrays": lambda path: zipped_zeros(path, 200 << 20),
    "80 GB claimed": lambda path: zipped(
        path, format_2(arrays={"a": "0"}) | {"arrays.safetensors": tensors_claiming(80 << 30, 8)}
    ),
    "a header of 2**63 bytes": lambda path: zipped(path, format_2() | {"arrays.safetensors": b"\xff" * 8}),
    "a state that claims 80 GB": lambda path: zipped(path, {"state.npy": npy_claiming(10**10)}),
    "200,000 brackets": lambda path: zipped(path, format_2() | {"model.json": b"[" * 200_000}),
    "700 lists": lambda path: zipped(path, format_2() | {"model.json": b"[" * 700 + b"]" * 700}),
    "5 million lists": lambda path: zipped(path, format_2() | {"model.json": b"[" + b"[]," * 5_000_000 + b"[]]"}),
    "100 MB of JSON": lambda path: zipped(path, format_2() | {"model.json": b" " * (100 << 20)}),
    "parts within parts": lambda path: zipped(path, {**format_2(), "model.json": nested(5_000)}),
    "20,000 members": many_members,
}


def nested(depth: int) -> bytes:
    start = b'{"format":2,"kind":"Frozen/1","params":{},"arrays":{},"parts":['
    inner = b'{"kind":"Frozen/1","params":{},"arrays":{},"parts":['
    return start + inner * depth + b"]}" * (depth + 1)


def zipped_zeros(path: Path, size: int) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", format_2()["model.json"])
        with archive.open("arrays.safetensors", "w", force_zip64=False) as member:
            member.write(tensors_claiming(size, 0))
            for _ in range(size >> 24):
                member.write(bytes(1 << 24))
    return path


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_are_refused_within_memory_and_time(tmp_path, bomb):
    path = BOMBS[bomb](tmp_path / "bomb.steelyard")
    assert path.stat().st_size < 3 << 20
    status, said = in_child(lambda: refused(path))
    assert status == 0, said
    assert said.startswith("StateError"), said


# -- mutations -------------------------------------------------------------------------------------------------------

EXTREME = [0, 1, -1, 2, 7, 255, 10**9, 2**31 - 1, -(2**31), 2**53, 1e300, -1e300, 0.5, np.nan, np.inf]
ODD = [None, True, -1, 10**9, 2**62, 1e300, "", "x" * 1000, "eval", [], [1], {}, {"use": "AROW"}, [[]], ["a", "b"]]


def mutated(node: Node, rng: np.random.Generator) -> Node:
    """One change at a random place of the tree."""
    nodes = list(walk(node))
    chosen = nodes[rng.integers(len(nodes))]
    return _replaced(node, chosen, _changed(chosen, nodes, rng))


def _replaced(node: Node, old: Node, new: Node) -> Node:
    if node is old:
        return new
    return replace(node, parts=[_replaced(part, old, new) for part in node.parts])


def _changed(node: Node, nodes: list[Node], rng: np.random.Generator) -> Node:
    what = rng.choice(["cells", "cells", "cells", "length", "dtype", "param", "param", "parts", "kind", "drop"])
    if what in ("cells", "length", "dtype") and node.arrays:
        name = list(node.arrays)[rng.integers(len(node.arrays))]
        return replace(node, arrays=node.arrays | {name: _other_array(node.arrays[name], str(what), rng)})
    if what == "drop" and node.arrays:
        gone = list(node.arrays)[rng.integers(len(node.arrays))]
        return replace(node, arrays={name: array for name, array in node.arrays.items() if name != gone})
    if what == "parts" and node.parts:
        parts = list(node.parts)
        parts[rng.integers(len(parts))] = nodes[rng.integers(len(nodes))]
        return replace(node, parts=parts if rng.random() < 0.5 else parts[:-1])
    if what == "kind":
        return replace(node, kind=list(TABLE)[rng.integers(len(TABLE))])
    return replace(node, params=_other_params(node.params, rng))


def _other_params(params: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    odd = ODD[rng.integers(len(ODD))]
    if not params:
        return {"surprise": odd}
    name = list(params)[rng.integers(len(params))]
    if isinstance(params[name], dict) and params[name] and rng.random() < 0.8:
        return params | {name: _other_params(params[name], rng)}
    return params | {name: odd}


def _other_array(array: Any, what: str, rng: np.random.Generator) -> Any:
    if what == "dtype":
        return array.astype(rng.choice(["?", "u1", "i4", "i8", "f4", "f8", "u4"]))
    if what == "length":
        return [array[:-1], array[:0], np.concatenate([array, array]), array.ravel(), array[None]][rng.integers(5)]
    found = array.copy()
    if found.size:
        with np.errstate(all="ignore"):
            value = np.asarray(EXTREME[rng.integers(len(EXTREME))])
            cell = value.astype(found.dtype) if found.dtype.kind == "f" or np.isfinite(value) else found.dtype.type(1)
        found.flat[rng.integers(found.size, size=rng.integers(1, 4))] = cell
    return found


def scrambled(raw: bytes, rng: np.random.Generator) -> bytes:
    """A file with some bytes changed, or cut short."""
    if rng.random() < 0.2:
        return raw[: rng.integers(len(raw))]
    changed_bytes = bytearray(raw)
    for _ in range(rng.integers(1, 4)):
        changed_bytes[rng.integers(len(raw))] = rng.integers(256)
    return bytes(changed_bytes)


def try_mutations(samples: Any, name: str, node: Node, folder: Path, count: int) -> str:
    """In a child: load and ask ``count`` changed files; a message that names the first that misbehaves."""
    rng = np.random.default_rng(list(name.encode()))
    rows = samples.MAKERS[name][1]
    path = folder / "m.steelyard"
    whole = write_container(path, node, version="0").read_bytes()
    wanted = samples.answers(load_model(path), rows)
    for k in range(count):
        raw = k % 5 == 0
        if raw:
            path.write_bytes(scrambled(whole, rng))
        else:
            try:
                write_container(path, mutated(node, rng), version="0")
            except (ValueError, TypeError):
                continue  # not even JSON
        limit_time(SECONDS)
        try:
            loaded = load_model(path)
        except errors.StateError:
            continue
        finally:
            limit_time(0)
        limit_time(SECONDS)
        try:
            with np.errstate(all="ignore"):
                said = samples.answers(loaded, copy.deepcopy(rows))  # a changed scaler may work in place
        except (errors.SteelyardError, ValueError):
            continue
        finally:
            limit_time(0)
        if raw and not all(map(equal, said, wanted)):
            return f"{name}: mutation {k} of the bytes answers differently"
        if not raw and {*map(strange, said)} - {*map(strange, wanted)}:
            return f"{name}: mutation {k} answers NaN or an infinity"
    return "fine"


def test_mutated_files_load_equal_or_are_refused(samples, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    count = -(-MUTATIONS // len(samples.MAKERS))
    for name in samples.MAKERS:
        node = write_node(samples.made(name))
        status, said = in_child(lambda name=name, node=node: try_mutations(samples, name, node, tmp_path, count))
        assert (status, said) == (0, "fine"), f"{name}: status {status}, {said}"
        assert [path.name for path in tmp_path.iterdir()] == ["m.steelyard"]


def test_the_container_tells_what_it_holds(samples, tmp_path):
    path = save_object(samples.made("model"), tmp_path / "m.steelyard")
    assert read_container(path).kind == "Model/1"
    with zipfile.ZipFile(path) as archive:
        assert sorted(archive.namelist()) == ["arrays.safetensors", "model.json"]
