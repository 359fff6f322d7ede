"""What `zipfile` raises on archives that are made or broken badly."""

import struct
import zipfile
import zlib
from lzma import LZMAError

ZIP_FAULTS = (
    zipfile.BadZipFile,
    zlib.error,
    LZMAError,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
    LookupError,
    NotImplementedError,
    struct.error,
    RuntimeError,
)
