"""Holds exported models to onnxruntime: `check_exports.py FOLDER`.

Every NAME.onnx of the folder is checked by onnx itself, then run on NAME.input.npy; the results must be those of
NAME.output.npy. A second run with the first sample alone shows that the size of the batch is free.
"""

import pathlib
import sys

import numpy as np
import onnx
import onnxruntime

# Of the largest number of an output.
TOLERANCE = 1e-5

folder = pathlib.Path(sys.argv[1])
failed = 0
for path in sorted(folder.glob("*.onnx")):
    try:
        onnx.checker.check_model(str(path), full_check=True)
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        given = np.load(path.with_suffix(".input.npy"))
        wanted = np.load(path.with_suffix(".output.npy"))
        port = session.get_inputs()[0]
        given = given.astype(np.int64 if "int64" in port.type else np.float32)
        for x, y in [(given, wanted), (given[:1], wanted[:1])]:
            (found,) = session.run(None, {port.name: x})
            if found.shape != y.shape:
                raise ValueError(f"shapes differ: {found.shape} vs {y.shape}")
            error = np.max(np.abs(found - y)) / max(1.0, np.max(np.abs(y)))
            if not error <= TOLERANCE:
                raise ValueError(f"values differ: {error} vs at most {TOLERANCE}")
        print(f"{path.name}: {len(session.get_modelmeta().custom_metadata_map)} notes, error {error:.1e}")
    except Exception as error:
        failed += 1
        print(f"{path.name}: {type(error).__name__}: {error}")
sys.exit(1 if failed else 0)
