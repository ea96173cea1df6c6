"""How good the model is that `compare` names, beside what tuned libraries reach in the same time."""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # one core for everyone
    os.environ.setdefault(_name, "1")
