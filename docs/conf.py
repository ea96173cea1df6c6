"""Sphinx: the site, built by scripts/docs. What depends on code or results is generated first, into docs/generated."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("STEELYARD_MIRROR", "http://127.0.0.1:9")  # an example never downloads

from site_pages import api, benchmarks, commands, gallery, papers, stories  # noqa: E402
from site_pages.references import escape_and_link, resolve_public_names  # noqa: E402

import steelyard  # noqa: E402

warnings.filterwarnings("ignore", category=UserWarning, message=".*non-interactive.*")

project = "Steelyard"
author = "The Steelyard developers"
project_copyright = author
release = version = steelyard.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["gallery/README.md", "site_pages", "**sg_execution_times.rst"]  # the last: of earlier builds
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]  # the generators are functions, which a cache cannot hold
default_role = "literal"  # docstrings write `name` for code
highlight_language = "none"  # a block that names no language is a command line; doctests are Python all the same

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = False  # measures have signatures made from their formulas
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False  # members stand on the page itself, in full
numpydoc_xref_param_type = False

sphinx_gallery_conf = gallery.configuration(HERE)

# Names of other libraries cannot be looked up without a network; our own must be found.
nitpick_ignore_regex = [
    (
        r"py:.*",
        r"(numpy|np|rich|npt|scipy|sklearn|pandas|polars|pyarrow|narwhals|nw|optuna|matplotlib|typing|collections|pathlib|os|io|concurrent|datetime)\b.*",
    ),
    (
        r"py:.*",
        r"(NDArray|type\[.*|tuple\[.*|ArrayLike|Axes|CostsLike|CVLike|Estimator|FrameLike|Gamma|KernelFunction|KernelName|Label|LabelsLike|MatrixLike|Measure|RandomState|Any|Path|Self|Callable|Iterable|Iterator|Sequence|Mapping|Literal|BaseEstimator|TypeAliasType|_.*)",
    ),
]

html_theme = "pydata_sphinx_theme"
html_title = "Steelyard"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "show_nav_level": 1,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
# Pages without pages below them: an empty list of sections helps nobody.
html_sidebars = {
    name: [] for name in ("index", "changelog", "contributing", "generated/benchmarks", "generated/commands", "search")
}


def generate(app: object) -> None:
    """Write the pages that come from code and results, and take away those of names that are gone."""
    target = HERE / "generated"
    pages = api.pages() | commands.pages() | papers.pages(HERE.parent) | benchmarks.pages(HERE.parent)
    pages |= stories.pages(HERE.parent)
    images = papers.pictures(HERE.parent)
    made = [target.glob(pattern) for pattern in ("*.md", "api/*", "papers/**/*.*", "stories/*")]
    for path in [path for some in made for path in some]:
        if path.relative_to(target).as_posix() not in pages | images:
            path.unlink()
    for name, source in images.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != source.read_bytes():
            path.write_bytes(source.read_bytes())
    for name, text in pages.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: object) -> None:
    """Hook the generators and the references in."""
    app.connect("builder-inited", generate, priority=100)  # type: ignore[attr-defined]
    app.connect("autodoc-process-docstring", escape_and_link, priority=900)  # type: ignore[attr-defined]
    app.connect("missing-reference", resolve_public_names)  # type: ignore[attr-defined]
