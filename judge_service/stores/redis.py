"""The Redis store keeps the cache where replicas of the service share it. Text only, without an end."""
# pyright: basic

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from judge_service.cache import StoreTrouble

if TYPE_CHECKING:
    from redis import Redis

T = TypeVar("T")

_PREFIX = "stepjudge:"

_RENEW = """
for _, key in ipairs(KEYS) do
  local holder = redis.call('get', key)
  if not holder or holder == ARGV[1] then redis.call('set', key, ARGV[1], 'PX', ARGV[2]) end
end
"""
"""A lease that is gone, as after a restart, is taken again; one that somebody else has by now is theirs."""

_RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) end"


class RedisStore:
    """A Redis at `redis://…`, `rediss://…` (TLS) or `unix://…`."""

    def __init__(self, url: str, *, timeout_s: float = 2.0) -> None:
        try:
            import redis
            from redis.backoff import NoBackoff
            from redis.retry import Retry
        except ModuleNotFoundError as error:
            raise StoreTrouble("Redis needs one more package: pip install 'stepjudge[redis]'") from error
        self._trouble = (redis.RedisError, OSError)
        self._broken = redis.ConnectionError
        try:
            self._redis: Redis = redis.Redis.from_url(
                url,
                socket_timeout=timeout_s,
                socket_connect_timeout=timeout_s,
                retry=Retry(NoBackoff(), 0),  # its own retries would multiply the timeout
                health_check_interval=30,
            )
        except ValueError as error:
            raise StoreTrouble(f"not an address of a Redis: {error}") from error

    def get(self, keys: Sequence[str]) -> Mapping[str, str]:
        values = self._do(lambda: self._redis.mget([_value(key) for key in keys]))
        texts = {key: _text(value) for key, value in zip(keys, values, strict=True)}
        return {key: text for key, text in texts.items() if text is not None}

    quick = False

    def put(self, texts: Mapping[str, str]) -> None:
        self._do(lambda: self._redis.mset({_value(key): text for key, text in texts.items()}))

    def forget(self, keys: Sequence[str]) -> None:
        if keys:
            self._do(lambda: self._redis.delete(*map(_value, keys)))

    def claim(self, key: str, holder: str, lease_s: float) -> bool:
        return bool(self._do(lambda: self._redis.set(_lease(key), holder, nx=True, px=round(lease_s * 1_000))))

    def renew(self, keys: Sequence[str], holder: str, lease_s: float) -> None:
        milliseconds = str(round(lease_s * 1_000))
        self._do(lambda: self._redis.eval(_RENEW, len(keys), *map(_lease, keys), holder, milliseconds))

    def release(self, key: str, holder: str) -> None:
        self._do(lambda: self._redis.eval(_RELEASE, 1, _lease(key), holder))

    def close(self) -> None:
        self._redis.close()

    def _do(self, work: Callable[[], T]) -> T:
        try:
            try:
                return work()
            except self._broken:
                # the server may have been restarted since these connections were used
                self._redis.connection_pool.disconnect(inuse_connections=False)
                return work()
        except self._trouble as error:
            raise StoreTrouble(f"Redis: {error}") from error


def _value(key: str) -> str:
    return f"{_PREFIX}verdict:{key}"


def _lease(key: str) -> str:
    return f"{_PREFIX}lease:{key}"


def _text(value: object) -> str | None:
    if not isinstance(value, bytes):
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None
