"""Exceptions of Farad. Their texts are those of the library."""


class FaradError(Exception):
    """Something that Farad refuses or that went wrong."""


class OpError(FaradError, ValueError):
    """Operands that an op refuses: shapes, dtypes, axes."""


class DeviceError(FaradError, RuntimeError):
    """A device failed, is unknown or is gone."""


class OutOfMemoryError(FaradError, MemoryError):
    """A device has no room. It goes on: free something and try again."""


class FileError(FaradError, OSError):
    """A file cannot be read or written."""
