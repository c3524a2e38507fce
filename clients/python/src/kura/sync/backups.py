# Generated from ../aio/backups.py by generator/: change it there.

"""Backups: everything that lasts, in one file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict, Optional, Sequence, Union

from ..methods.backups import BackupsMethods
from ..methods.storage import StorageBackupResult
from ..sources import NewFile
from ..threads import beside
from ..wire import Progress

if TYPE_CHECKING:
    from .client import Kura


class Backups(BackupsMethods):
    """All methods of backups, and one to a file of one's own."""

    def __init__(self, caller: Kura) -> None:
        super().__init__(caller)
        self._client = caller

    def write(
        self,
        path: Union[str, "os.PathLike[str]"],
        *,
        passphrase: Optional[str] = None,
        recipients: Optional[Sequence[str]] = None,
        include: Optional[Sequence[str]] = None,
        replace: bool = False,
        progress: Optional[Progress] = None,
    ) -> StorageBackupResult:
        """Writes a backup to a file, of mode 0600, which is there when it is whole and on the disk, and not before.

        A file that is there is left alone (FileExistsError) unless `replace`. `passphrase`, `recipients`: who can open it.
        `include`: `documents`, or `documents/notes`, … instead of everything. `progress(done, total)` is called now and then.
        `kura restore FILE` makes a data directory of it, while no daemon has one.
        """
        params: Dict[str, Any] = {"fd": True}
        for name, value in (("passphrase", passphrase), ("recipients", recipients), ("include", include)):
            if value is not None:
                params[name] = value if isinstance(value, str) else list(value)
        with NewFile(path, replace) as file:
            result: StorageBackupResult = self._client.call("storage.backup", params, descriptor=file, progress=progress)
            file.expect(result.get("bytes"))
            beside(file.finish)
        return result
