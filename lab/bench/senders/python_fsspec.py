import sys

import fsspec

with fsspec.open(sys.argv[1], "rb") as file:
    sys.stdout.buffer.write(file.read())
