"""What the bytes of a data directory prove to have been on the disk: up to which revision a start cannot lose changes without noticing.

It is what the note `acknowledged` says, what the heads of the log's segments say and the frames of their rows, each sealed by a sum. Forms
are those of Sources/KuraStorage/Log: AcknowledgedNote.swift and SegmentFormat.swift.
"""

import struct

NOTE, SEGMENT = b"KURAACK\n", b"KURALOG\n"
SLOTS, HEADS, FIRST_ROW = (0, 512), (0, 4096), 4608
FRONT, BACK, FRAME, SECTOR = 0x776F726B, 0x6B726F77, 56, 512


def table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        yield byte


TABLE = list(table())


def crc32c(data):
    total = 0xFFFFFFFF
    for byte in data:
        total = total >> 8 ^ TABLE[(total ^ byte) & 0xFF]
    return total ^ 0xFFFFFFFF


def sealed(content, at, length):
    """The bytes there, when the sum that follows them is theirs; else none."""
    data, seal = content[at : at + length], content[at + length : at + length + 4]
    return data if len(seal) == 4 and crc32c(data) == int.from_bytes(seal, "little") else b""


def noted(content):
    """What the newest whole slot of the note says."""
    slots = [sealed(content, at, 52) for at in SLOTS]
    return max((struct.unpack_from("<Q", slot, 8)[0] for slot in slots if slot.startswith(NOTE)), default=0)


def frames(content, salt):
    """Each end of a row that is whole, and where it begins."""
    at = content.find(salt, FIRST_ROW)
    while at >= 0:
        frame = sealed(content, at - 8, FRAME - 4)
        if frame and struct.unpack_from("<I", frame)[0] in (FRONT, BACK):
            yield at - 8, frame
        at = content.find(salt, at + 1)


def by_frame(content, at, frame, is_complete):
    """What a row's end proves. The row itself was there when its other end is whole too and nothing can have torn it: no power cut
    came, or it lies in one sector, which a disk writes as a whole. A kill leaves the front of a row alone."""
    mark, length = struct.unpack_from("<II", frame)
    previous, rev, _, synced = struct.unpack_from("<QQqQ", frame, 16)
    end = at + 2 * FRAME + (length + 7 & ~7)
    is_framed = mark == FRONT and sealed(content, end - FRAME, FRAME - 4)[4:] == frame[4:]
    if is_framed and (is_complete or at // SECTOR == (end - 1) // SECTOR):
        return rev
    return max(previous, synced) if is_complete else synced


def of_segment(content, is_complete):
    head = next((head for head in (sealed(content, at, 32) for at in HEADS) if head.startswith(SEGMENT)), b"")
    if not head:
        return 0
    found = frames(content, head[16:24])
    return max([struct.unpack_from("<Q", head, 24)[0], *(by_frame(content, at, frame, is_complete) for at, frame in found)])


def proven(note, segments, is_complete):
    """`note`, `segments`: contents of the files. `is_complete`: no power cut came behind the rows, so that each proves those before it."""
    return max([noted(note), *(of_segment(content, is_complete) for content in segments)])
