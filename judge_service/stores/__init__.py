"""Where the cache keeps its texts: a folder of this machine, or a Redis that replicas share. One module each."""

from pathlib import Path

from judge_service.cache import Store


def open_store(url: str | None, folder: Path) -> Store:
    """The Redis at the address, or the folder. Raises StoreTrouble."""
    if url is None:
        from judge_service.stores.folder import FolderStore

        return FolderStore(folder)
    from judge_service.stores.redis import RedisStore

    return RedisStore(url)
