"""The state store in Redis, on a real server."""

import logging
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.runs.stores import NOW, StateStoreContract, end, letter, new

from docmill.errors import MisconfiguredError, ServerError, UnauthorizedError, UnknownRunError
from docmill.runs.states import NewDocument, Run, StageResult, StateStore
from docmill.runs.stores.opening import open_store
from support.lossy_proxy import lossy_proxy
from support.redis_servers import RedisCluster, RedisServer, free_port

if find_spec("redis") is None:
    pytest.skip("redis-py is not installed", allow_module_level=True)

SECRET = "hunter2"


class TestRedis(StateStoreContract):
    @pytest.fixture
    async def store(self, redis_server: RedisServer) -> AsyncGenerator[StateStore]:
        store = open_store(redis_server.address)
        yield store
        await store.close()


class TestRedisBehindALossyNetwork(StateStoreContract):
    """Every change holds, and is made once, though every seventh answer is lost and its call repeated."""

    @pytest.fixture
    async def store(self, redis_server: RedisServer) -> AsyncGenerator[StateStore]:
        async with lossy_proxy(redis_server.port, lost_each=7) as proxy:
            store = open_store(f"redis://127.0.0.1:{proxy.port}")
            yield store
            await store.close()
            assert proxy.lost


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisCluster]:
    cluster = RedisCluster(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.kill()


class TestRedisCluster(StateStoreContract):
    @pytest.fixture
    async def store(self, cluster: RedisCluster) -> AsyncGenerator[StateStore]:
        for node in cluster.nodes:
            assert node.ask("FLUSHALL") == b"+OK\r\n"
        store = open_store(f"{cluster.address}?cluster=true")
        yield store
        await store.close()

    async def test_a_run_of_any_name_is_in_one_slot(self, store: StateStore) -> None:
        for name in ("run", "", "}", "{", "{}", "a{b}c", "\udc80"):
            await begin(store, "a", "b", run_id=name)
            await store.remove_run(name)

    async def test_the_address_must_say_that_it_is_a_cluster(self, cluster: RedisCluster) -> None:
        for node in cluster.nodes:
            store = open_store(f"redis://127.0.0.1:{node.port}")
            with pytest.raises(MisconfiguredError, match="add cluster=true"):  # noqa: PT012  see below
                for name in "abcdefgh":  # some of them are this node's
                    await begin(store, run_id=name)
            await store.close()


@pytest.fixture
async def store(redis_server: RedisServer) -> AsyncGenerator[StateStore]:
    store = open_store(redis_server.address)
    yield store
    await store.close()


@pytest.fixture
def lossless(tmp_path: Path) -> Iterator[RedisServer]:
    """A server of its own that keeps an append-only file."""
    server = RedisServer(tmp_path, "--appendonly", "yes", "--appendfsync", "always")
    server.start()
    yield server
    server.kill()


async def begin(store: StateStore, *paths: str, run_id: str = "run") -> None:
    await store.create_run(Run(run_id, NOW))
    await store.add(run_id, new(*paths), listing=await store.begin_listing(run_id))


async def use_everything(store: StateStore) -> None:
    """A run with something of all that there is."""
    await begin(store, "a", "b", "c", "d")
    await store.claim("run", owner="me", limit=3, lease_s=60)
    await store.keep_stages("run", [StageResult("a", "convert", b"x")])
    broken = end("b", "failed", error="[extract] broken", dead_letter=letter("b"))
    await store.settle("run", [broken, end("c")], owner="me")


def keys_of(server: RedisServer) -> list[str]:
    return sorted(word for word in server.ask("KEYS", "*").decode().split("\r\n") if "docmill" in word)


def ttl_s(server: RedisServer, key: str) -> int:
    return int(server.ask("TTL", key).removeprefix(b":"))


@pytest.mark.parametrize(("option", "days"), [("", 30.0), ("?ttl_days=2", 2.0), ("?ttl_days=0.5", 0.5)])
async def test_every_key_goes_away_by_itself(redis_server: RedisServer, option: str, days: float) -> None:
    store = open_store(redis_server.address + option)
    await use_everything(store)
    await store.renew("run", owner="me", lease_s=60)
    await store.close()

    keys = keys_of(redis_server)

    assert len({key.rpartition(":")[2] for key in keys if ":reply:" not in key}) == 17
    for key in keys:
        if ":reply:" in key:
            assert 100 < ttl_s(redis_server, key) <= 600, key
        else:
            assert 0.98 * days * 86400 < ttl_s(redis_server, key) <= days * 86400, key


async def test_a_write_extends_the_time_that_a_run_is_kept(redis_server: RedisServer) -> None:
    store = open_store(redis_server.address)
    await use_everything(store)
    keys = [key for key in keys_of(redis_server) if ":reply:" not in key and key != "docmill:runs"]
    for key in keys:
        redis_server.ask("EXPIRE", key, "1000")

    await store.count("run")
    assert all(ttl_s(redis_server, key) <= 1000 for key in keys), "reading is no writing"

    await store.renew("run", owner="me", lease_s=60)
    assert all(ttl_s(redis_server, key) > 29 * 86400 for key in keys)
    await store.close()


async def test_a_run_that_has_expired_is_forgotten_and_its_name_free(
    store: StateStore, redis_server: RedisServer
) -> None:
    await use_everything(store)
    redis_server.ask("DEL", "docmill:runs:{run}:run")

    assert await store.list_runs() == []
    with pytest.raises(UnknownRunError):
        await store.find_run("run")
    await begin(store, "a")
    assert [run.run_id for run in await store.list_runs()] == ["run"]
    assert dict(await store.count("run")) == {"pending": 1}
    assert [one async for one in store.dead_letters("run")] == []


async def test_a_removed_run_leaves_nothing_but_answers_that_expire(
    store: StateStore, redis_server: RedisServer
) -> None:
    await use_everything(store)
    await store.remove_run("run")
    assert [key for key in keys_of(redis_server) if ":reply:" not in key] == []


@pytest.mark.parametrize("name", ["}", "{a}b", "a:b", "", " ", "ü/ß 文", "a\0b", "\udc80\udcff", "%7B"])
async def test_names_of_any_characters_come_back_as_they_are(store: StateStore, name: str) -> None:
    paths = [name, name + "x", f'{name}\x7f\\"/\n', "\udc80", "\0"]
    await store.create_run(Run(name, NOW, name, configuration={name: name}))
    listing = await store.begin_listing(name)
    documents = [NewDocument(path, path, {"key": path}, path) for path in paths]
    assert (await store.add(name, documents, listing=listing)).new == len(paths)

    claimed = await store.claim(name, owner=name, limit=9, lease_s=60)
    assert [(state.path, state.name, state.version) for state in claimed] == [
        (one, one, one) for one in paths
    ]
    assert [state.metadata for state in claimed] == [{"key": path} for path in paths]
    await store.keep_stages(
        name, [StageResult(path, f"{name}/1", path.encode("utf-8", "surrogatepass")) for path in paths]
    )
    assert list(await store.stages(name, name, prefix=name)) == [f"{name}/1"]
    assert set(await store.settle(name, [end("none"), end(name, error=name)], owner=name)) == {"none"}
    assert await store.settle(name, [end(path) for path in paths[1:]], owner=f"{name}:") == paths[1:]
    assert (await store.find_run(name)).configuration == {name: name}
    assert [run.run_id for run in await store.list_runs()] == [name]


async def test_owners_whose_names_begin_alike_do_not_share_documents(store: StateStore) -> None:
    await begin(store, "a", "b", "c")
    for owner in ("me", "me:1", "me;"):
        await store.claim("run", owner=owner, limit=1, lease_s=60)
    await store.release("run", owner="me")
    assert [state.path async for state in store.documents("run", status="in_progress")] == ["b", "c"]


async def test_large_batches_are_split(store: StateStore) -> None:
    paths = [f"{number:05}" for number in range(5500)]
    await store.create_run(Run("run", NOW))
    listing = await store.begin_listing("run")
    assert (await store.add("run", new(*paths), listing=listing)).new == 5500
    claimed = await store.claim("run", owner="me", limit=5000, lease_s=60)
    assert [state.path for state in claimed] == paths[:5000]
    failed = [end(path, "failed", error="[read] no", dead_letter=letter(path)) for path in paths[:4000]]
    assert not await store.settle("run", failed, owner="me")
    assert len([one async for one in store.dead_letters("run")]) == 4000
    assert await store.requeue("run", paths[:2500]) == 2500
    assert await store.requeue("run") == 1500
    assert await store.purge("run", paths[:1500]) == 1500
    assert await store.purge("run") == 2500
    listing = await store.begin_listing("run")
    assert await store.end_listing("run", listing=listing) == 4500, "a thousand are in progress"
    assert dict(await store.count("run")) == {"in_progress": 1000, "vanished": 4500}


async def test_a_repeated_settlement_is_no_loss(store: StateStore) -> None:
    await begin(store, "a", "b")
    await store.claim("run", owner="me", limit=9, lease_s=60)
    ends = [end("a", at=datetime.now(UTC), tokens=5), end("none")]
    assert await store.settle("run", ends, owner="me") == ["none"]
    assert await store.settle("run", ends, owner="me") == ["none"], "the runner has not heard the answer"
    state = await store.find_document("run", "a")
    assert state is not None
    assert state.tokens == 5


async def test_what_a_server_has_forgotten_is_done_again(lossless: RedisServer) -> None:
    """With `appendfsync everysec` a server may lose its last second: nothing must be held for ever then."""
    store = open_store(lossless.address)
    await begin(store, "a", "b")
    await store.claim("run", owner="me", limit=9, lease_s=60)
    files = {path: path.read_bytes() for path in lossless.folder.rglob("*.aof*")}
    assert not await store.settle("run", [end("a")], owner="me")
    lossless.kill()
    for path, content in files.items():
        path.write_bytes(content)
    lossless.start()

    await store.renew("run", owner="me", lease_s=60)

    (state,) = await store.claim("run", owner="other", limit=9, lease_s=60)
    assert (state.path, state.is_uncertain) == ("a", True)
    await store.close()


async def test_a_store_goes_on_after_the_server_was_started_again(lossless: RedisServer) -> None:
    store = open_store(lossless.address)
    await use_everything(store)
    before = [state async for state in store.documents("run")]
    lossless.kill()
    lossless.start()
    assert [state async for state in store.documents("run")] == before
    assert not await store.settle("run", [end("a")], owner="me")
    await store.close()
    assert (await store.find_run("run")).run_id == "run", "a closed store opens again"
    await store.close()


async def test_a_server_that_is_not_there_is_named_without_the_password(
    lossless: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    lossless.stop()
    store = open_store(f"redis://user:{SECRET}@127.0.0.1:{lossless.port}/3")
    with pytest.raises(ServerError, match=f"127.0.0.1:{lossless.port}: Connection refused") as refusal:
        await store.list_runs()
    await store.close()
    assert SECRET not in str(refusal.value) + caplog.text


async def test_a_wrong_password_needs_a_person(tmp_path: Path) -> None:
    server = RedisServer(tmp_path, "--requirepass", "right")
    server.start()
    try:
        for password in ("", f":{SECRET}@"):
            store = open_store(f"redis://{password}127.0.0.1:{server.port}")
            with pytest.raises(UnauthorizedError, match="password") as refusal:
                await store.list_runs()
            assert SECRET not in str(refusal.value)
            await store.close()
        store = open_store(f"redis://:right@127.0.0.1:{server.port}")
        assert await store.list_runs() == []
        await store.close()
    finally:
        server.kill()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for this machine, signed by itself; its key is beside it."""
    folder = tmp_path_factory.mktemp("certificate")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=redis"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(folder / "key.pem")]
    subprocess.run([*command, "-out", folder / "server.pem"], check=True, capture_output=True)
    return folder / "server.pem"


async def test_a_server_is_trusted_by_its_certificate(tmp_path: Path, certificate: Path) -> None:
    tls_port, key = free_port(), certificate.with_name("key.pem")
    server = RedisServer(
        tmp_path,
        *("--tls-port", str(tls_port), "--tls-auth-clients", "no"),
        *(
            "--tls-cert-file",
            str(certificate),
            "--tls-key-file",
            str(key),
            "--tls-ca-cert-file",
            str(certificate),
        ),
    )
    server.start()
    try:
        address = f"rediss://127.0.0.1:{tls_port}"
        for options, words in (("", "is not trusted"), ("?ssl_ca_certs=/nowhere/ca.pem", "cannot be read")):
            store = open_store(address + options)
            with pytest.raises(MisconfiguredError, match=words):
                await store.list_runs()
            await store.close()
        store = open_store(f"{address}?ssl_ca_certs={certificate}")
        await begin(store, "a")
        assert dict(await store.count("run")) == {"pending": 1}
        await store.close()
    finally:
        server.kill()


async def test_settings_that_lose_states_are_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = RedisServer(tmp_path, "--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru")
    server.start()
    try:
        with caplog.at_level(logging.WARNING):
            store = open_store(server.address)
            await begin(store, "a")
            await store.count("run")
        assert [record.message.partition(":")[0] for record in caplog.records] == [
            "this Redis server keeps no append-only file",
            "this Redis server drops states of runs when its memory is full; set maxmemory-policy noeviction",
        ]
        await store.close()
        caplog.clear()
        server.ask("ACL", "SETUSER", "default", "-config")
        assert (await store.find_run("run")).run_id == "run"
        assert not caplog.records, "a server may keep its settings to itself"
        await store.close()
    finally:
        server.kill()


async def test_a_server_without_memory_is_an_error_of_the_server(redis_server: RedisServer) -> None:
    store = open_store(redis_server.address)
    await begin(store, "a")
    redis_server.ask("CONFIG", "SET", "maxmemory", "1")
    try:
        with pytest.raises(ServerError, match="out of memory"):
            await store.add("run", new("b"), listing=await store.begin_listing("run"))
        await store.claim("run", owner="me", limit=9, lease_s=60)
        assert not await store.settle("run", [end("a")], owner="me"), "what is at work can end"
    finally:
        redis_server.ask("CONFIG", "SET", "maxmemory", "0")
    assert dict(await store.count("run")) == {"completed": 1}
    await store.close()


async def test_keys_of_something_else_are_refused(redis_server: RedisServer) -> None:
    redis_server.ask("SET", "docmill:runs:{run}:run", "mine")
    store = open_store(redis_server.address)
    with pytest.raises(MisconfiguredError, match="another database"):
        await store.find_run("run")
    with pytest.raises(MisconfiguredError, match="another database"):
        await store.begin_listing("run")
    await store.close()


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("docmill.runs.stores.redis")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(MisconfiguredError, match=r"pip install 'docmill\[redis\]'"):
        open_store("redis://localhost")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("redis://localhost?ttl_days=x", "ttl_days"),
        ("redis://localhost?ttl_days=0", "ttl_days"),
        ("redis://localhost?ttl_days=nan", "ttl_days"),
        ("redis://localhost?ttl_days=1e9", "ttl_days"),
        ("redis://localhost?cluster=maybe", "cluster"),
        ("redis://localhost:port", "host"),
        ("redis://[::1", "host"),
        (f"redis://:{SECRET}@localhost?colour=red", "given: colour"),
        (f"rediss://:{SECRET}@localhost?socket_timeout=long", "given: socket_timeout"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_at_once(address: str, words: str) -> None:
    with pytest.raises(MisconfiguredError, match=words) as refusal:
        open_store(address)
    assert SECRET not in str(refusal.value)
