"""An excerpt of bytes in memory, without a job."""

from bide.excerpts.blocks import Source
from bide.excerpts.choosing import Chosen, chosen, whole
from bide.excerpts.scanning import Scan
from bide.model.excerpt import BUDGET
from bide.model.output import Stream


def source(data: bytes, stream: Stream = Stream.OUT, chunk: int = 1 << 20) -> Source:
    """A stream that was looked through in chunks of this size."""
    scan = Scan(0)
    for at in range(0, len(data), chunk):
        scan.feed(data[at : at + chunk])
    return Source(stream, lambda start, size: data[start : start + size], 0, len(data), scan)


def excerpt(out: bytes, err: bytes = b"", budget: int = BUDGET) -> Chosen:
    """What would be shown of two streams."""
    sources = [source(out), source(err, Stream.ERR)]
    return whole(sources, budget) or chosen(sources, budget)


def shown(found: Chosen) -> str:
    """All that is shown, in order."""
    return "".join(piece.text for pieces in found.pieces.values() for piece in pieces)
