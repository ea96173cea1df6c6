"""No class, function, parameter, field or module is called by a word that only its authors would understand.

The words are the left columns of the tables of names that were replaced. ``ANYWHERE`` may name nothing at all;
``CALLED`` are good words for a value, which the tables replaced as names of functions, methods and classes. ``HERE``
lists the places where a word means what it means elsewhere in the field, with the reason.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "steelyard"

ANYWHERE = """
    Seen Glance Doubt Lack Turn Spread Sheet glance doubt lack stride sheet checked vet meaning meaning_of asked
    constant_feature miss alarm teach taught teacher told dear dearer dearest lineup usual ours checkup climb
    halves Form Cases Repeats Machinery Plan begun taken_up spelled Saved Stored Seats Ahead complain purse lesson
    doorway of_pair of_matrix of_classes of_rows of_matrices calibrated bound_to n_asked_ release stream_value
    cumulative race noticed advice Standing behind like_the_best rivals Contender Variant Race Entry Team Watch
    Tuned _Asked _Taught capped some_rows without_columns known_before mistake_weights Engine ManyEngine Setting
    Record stream_of complaint_about always_asked Tally Preparation _live _among labels_of rest_of Answers Cells
    counted recalled Classified Regressed preferring Match Judge stranger StartedSampler RUNGS Pulls bend polished
    Part _Drawer steer fault opened _Rejoined EngineRefuses Test adopt take_turn learn_later Handed OnPages
    Checked Priced Weighed predicted splits intercept turn lab utils helpers misc
"""
CALLED = """
    found keep kept part paid priced table codes read cheapest ladder finish inner pace above again whole readable
    tell left_out typical_costs constant ask chance rng folds jobs timeout Problem Settings Solution
"""
NEVER, VALUES = set(ANYWHERE.split()), set(CALLED.split())
# Tests, benchmarks and examples do not use them either, but for those that are good words there.
GOOD_OUTSIDE = """
    ours asked splits counted predicted checked fault Test Part Match Record cumulative release behind turn
"""
OUTSIDE = (NEVER | {"contender"}) - set(GOOD_OUTSIDE.split())
# Words that a command line or a format fixes: compare's and predict's options, the service's tables and HTTP.
HERE = {
    ("cli/tables.py", "typical_costs"): "the option --typical-costs of predict",
    ("comparison/data.py", "paid"): "what answers cost on each row, beside cost_table",
    ("evaluate/_predictions.py", "paid"): "what the answers given cost on each row",
    ("comparison/page/what_if.py", "priced"): "rows of the page at other prices",
    ("data/csv_records.py", "read"): "the method of a file",
    ("data/files.py", "readable"): "the method of a file",
    ("data/part_files.py", "readable"): "the method of a file",
    ("data/part_files.py", "tell"): "the method of a file",
    ("data/parts.py", "read"): "the public method of a table of many files",
    ("data/table.py", "table"): "the module of tables of any format",
    ("margin/kernels.py", "part"): "a function inside another: some rows of a kernel matrix",
    ("reduction/deduplication.py", "found"): "a function inside another",
    ("report/report.py", "table"): "a table of a report",
    ("reduction/scheme.py", "constant"): "the answer that ignores the row",
    ("service/writer/jobs.py", "Problem"): "problem details of HTTP (RFC 9457)",
    ("service/writer/jobs.py", "jobs"): "jobs of the writer",
    ("service/replay/pace.py", "pace"): "the setting of a project, as the HTTP interface has it",
    ("service/log/records.py", "read"): "the method of a reader",
}
# Words that stand in no name, comment, message, template or script of what is shipped, nor on the site.
UNSAID = re.compile(r"(?<![A-Za-z])(teach(es|er|ing)?|taught|told|dear(er|est)?|begun)(?![A-Za-z])", re.IGNORECASE)
SHIPPED = [
    ("src/steelyard", "*.py *.html *.js *.css *.toml *.j2"),
    ("native", "*.hpp *.cpp *.inl"),
    ("docs", "*.md *.py"),
]
SHIPPED += [("examples", "*.py"), (".", "README.md ARCHITECTURE.md CONTRIBUTING.md CMakeLists.txt")]
NATIVE = """
    Seen Glance Doubt Lack Turn Spread Seats Handed OnPages Ahead Form Cases Test Part take_turn learn_later fault
    miss alarm adopt opened steer bend dear_ones
"""
HOMONYMS = "Plan Problem Settings Solution Task Candidate Weighed read_costs row_costs class_costs labels_of draw"


def names(source: str) -> Iterator[tuple[str, bool]]:
    """What a module defines, and whether it is a class or function: parameters, attributes and fields besides."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, True
        elif isinstance(node, ast.arg):
            yield node.arg, False
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, False
        if isinstance(node, ast.ClassDef):
            fields = [field.target for field in node.body if isinstance(field, ast.AnnAssign)]
            yield from ((field.id, False) for field in fields if isinstance(field, ast.Name))


def private(source: str) -> set[str]:
    """The words of a module that the tables replaced."""
    return {name for name, called in names(source) if name in NEVER or (called and name in VALUES)}


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_names_are_the_words_of_the_field(path: Path) -> None:
    where = path.relative_to(SOURCE).as_posix()
    places = {path.stem, path.parent.name} & (NEVER | VALUES)
    found = places | private(path.read_text(encoding="utf-8"))
    assert sorted(word for word in found if (where, word) not in HERE) == []


@pytest.mark.parametrize("folder", ["tests", "bench", "examples", "docs"])
def test_nor_is_anything_outside_the_package_called_so(folder: str) -> None:
    paths = [path for path in sorted((ROOT / folder).rglob("*.py")) if "node_modules" not in path.parts]
    found = {path.relative_to(ROOT).as_posix(): outside(path.read_text(encoding="utf-8")) for path in paths}
    assert {path: words for path, words in found.items() if words} == {}


def outside(source: str) -> list[str]:
    """What a file defines by one of the words that are used nowhere."""
    return sorted({name for name, _ in names(source)} & OUTSIDE)


@pytest.mark.parametrize(("folder", "patterns"), SHIPPED)
def test_no_text_says_what_only_its_authors_would_say(folder: str, patterns: str) -> None:
    search = Path.rglob if folder != "." else Path.glob
    paths = [
        path for pattern in patterns.split() for path in search(ROOT / folder, pattern) if "_build" not in path.parts
    ]
    assert paths
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in sorted(paths)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if UNSAID.search(line)
    ]
    assert found == []


@pytest.mark.parametrize("path", sorted((ROOT / "native").rglob("*.[chi]*pp")), ids=lambda path: path.name)
def test_nor_does_native_code_name_anything_so(path: Path) -> None:
    assert native_words(path.read_text(encoding="utf-8")) & set(NATIVE.split()) == set()


def native_words(source: str) -> set[str]:
    """The identifiers of C++ code."""
    return set(re.findall(r"[A-Za-z_]\w*", re.sub(r'"(\\.|[^"\\])*"|//.*', "", source)))


def test_comments_and_text_name_nothing_in_native_code() -> None:
    assert native_words('int a_b = f("fault"); // Turn') == {"int", "a_b", "f"}
    assert UNSAID.search("x_told = 1")
    assert UNSAID.search("Dearest") is not None
    assert UNSAID.search("could not be foretold") is None


def test_every_exception_is_still_needed() -> None:
    for where, word in HERE:
        path = SOURCE / where
        assert word in {path.stem, *(name for name, _ in names(path.read_text(encoding="utf-8")))}, (where, word)


def test_a_private_word_is_found_wherever_it_names_something() -> None:
    source = "class Seen:\n    advice: int\n    def climb(self, told, table):\n        self.begun = lack = 1\n"
    assert private(source) == {"Seen", "advice", "climb", "told", "begun"}
    assert private("async def table(found):\n    pass\n") == {"table"}


def test_one_name_means_one_thing() -> None:
    defined: dict[str, list[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                defined.setdefault(node.name, []).append(path.relative_to(SOURCE).as_posix())
    assert {name: places for name in HOMONYMS.split() if len(places := defined.get(name, [])) > 1} == {}
