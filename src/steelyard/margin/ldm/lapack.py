"""Long calls of BLAS and LAPACK that Ctrl-C and deadlines can end.

Such a call looks at no signal until it is done, which for some thousand rows takes longer than anybody waits. It runs
here in a thread of its own while the caller's looks; a caller that must stop leaves it alone with its own
copies, and what it finds is dropped. The routines are those of SciPy, called where its wrappers would keep the
interpreter locked: the numbers are the same to the bit.
"""

from __future__ import annotations

import contextvars
import ctypes
import threading
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numpy as np
from scipy import LowLevelCallable
from scipy.linalg import cython_lapack

from ..._native import check_stop
from .dual import Floats

SMALL = 300  # rows of a matrix that every routine here is done with in some 50 ms
LOOK = 0.05  # seconds between two looks
_Found = TypeVar("_Found")


def abandonable(work: Callable[[], _Found], rows: int) -> _Found:
    """What ``work`` returns, unless a signal or the thread's deadline comes first; of few rows without a thread."""
    if rows <= SMALL:
        return work()
    found: list[_Found] = []
    failed: list[BaseException] = []
    finished = threading.Event()

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:  # raised again below, in the thread that asked
            failed.append(error)
        finally:
            finished.set()

    check_stop()
    threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True).start()
    while not finished.wait(LOOK):
        check_stop()
    if failed:
        raise failed[0]
    return found[0]


def product(a: Floats, b: Floats) -> Floats:
    """a @ b."""
    return abandonable(lambda: a @ b, len(a))


def eigh(matrix: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues in ascending order and eigenvectors of a symmetric matrix, by dsyevr as in scipy.linalg.eigh."""
    return abandonable(lambda: _dsyevr(matrix), len(matrix))


def cholesky_lower(matrix: Floats) -> Floats:
    """The lower factor, by dpotrf as in scipy.linalg.cho_factor; what is above the diagonal is left as it was."""
    return abandonable(lambda: _dpotrf(matrix), len(matrix))


@cache
def _routine(name: str) -> Callable[..., None]:
    """The routine that SciPy is linked with; a call through ctypes lets other threads go on."""
    address = ctypes.pythonapi.PyCapsule_GetPointer
    address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    found = LowLevelCallable.from_cython(cython_lapack, name)
    place = address(tuple.__getitem__(found, 0), found.signature.encode())
    return ctypes.CFUNCTYPE(None)(place)


def _dsyevr(matrix: Floats) -> tuple[Floats, Floats]:
    n = len(matrix)
    a, vectors = np.array(matrix, dtype=np.float64, order="F"), np.empty((n, n), order="F")
    values, support, info = np.empty(n), np.empty(2 * n, np.intc), ctypes.c_int(0)

    def call(work: Floats, lwork: int, iwork: Any, liwork: int) -> None:
        size, one, zero, unit = ctypes.c_int(n), ctypes.c_int(1), ctypes.c_double(0), ctypes.c_double(1)
        arguments: list[Any] = [b"V", b"A", b"L", size, a, size, zero, unit, one, size, zero, ctypes.c_int(0), values]
        arguments += [vectors, size, support, work, ctypes.c_int(lwork), iwork, ctypes.c_int(liwork), info]
        _routine("dsyevr")(*map(_by_reference, arguments))

    best, integers = np.empty(1), np.empty(1, np.intc)
    call(best, -1, integers, -1)
    call(np.empty(int(best[0])), int(best[0]), np.empty(int(integers[0]), np.intc), int(integers[0]))
    if info.value != 0:
        raise np.linalg.LinAlgError("the eigenvalues of the kernel matrix were not found")
    return values, vectors


def _dpotrf(matrix: Floats) -> Floats:
    factor, info = np.array(matrix, dtype=np.float64, order="F"), ctypes.c_int(0)
    size = ctypes.c_int(len(factor))
    _routine("dpotrf")(*map(_by_reference, [b"L", size, factor, size, info]))
    if info.value != 0:
        raise np.linalg.LinAlgError(f"the leading minor of order {info.value} is not positive definite")
    return factor


def _by_reference(value: Any) -> Any:
    """Fortran takes addresses only."""
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.c_char_p(value) if isinstance(value, bytes) else ctypes.byref(value)
