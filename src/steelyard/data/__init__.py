"""Readers and the catalogue of the papers' data. Knows no learner."""

from .arff import read_arff
from .catalogue import DatasetInfo, DatasetTask, fetch_dataset, list_datasets, load_costs, load_dataset, load_orders
from .chunks import iter_chunks
from .dataset import Dataset
from .delimited import read_csv
from .jsonl import read_jsonl
from .libsvm import read_libsvm
from .parquet import read_parquet
from .parts import Parts
from .table import read_table

__all__ = [
    "Dataset",
    "DatasetInfo",
    "DatasetTask",
    "Parts",
    "fetch_dataset",
    "iter_chunks",
    "list_datasets",
    "load_costs",
    "load_dataset",
    "load_orders",
    "read_arff",
    "read_csv",
    "read_jsonl",
    "read_libsvm",
    "read_parquet",
    "read_table",
]
