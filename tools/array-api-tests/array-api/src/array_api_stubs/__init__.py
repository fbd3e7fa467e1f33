from . import _2024_12 as _2024_12
