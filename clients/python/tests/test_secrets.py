from __future__ import annotations

import pickle

import pytest

import kura
from conftest import Daemon


def test_secrets_of_all_kinds_come_back_and_are_not_shown(client: kura.Kura) -> None:
    mail = client.secrets["mail"]
    values: dict[str, kura.JSON] = {"text": "open sesame", "fields": {"user": "a", "password": "b"}, "bytes": b"\0\xff"}
    for account, value in values.items():
        mail.put(account, value, label="test")
        secret = mail.get(account)
        assert secret is not None and secret.reveal() == value
        assert repr(secret) == str(secret) == f"{secret}" == "<Secret version 1, not shown>"
        with pytest.raises(TypeError):
            pickle.dumps(secret)
    field = mail.get("fields", field="password")
    assert field is not None and field.text() == "b"
    fields = mail.get("fields")
    assert fields is not None
    with pytest.raises(TypeError):
        fields.text()
    assert sorted(mail.accounts()) == ["bytes", "fields", "text"]
    assert mail.get("nobody") is None and mail.delete("text") and not mail.delete("text")


def test_an_error_never_shows_the_secret(client: kura.Kura) -> None:
    with pytest.raises(kura.KuraError) as caught:
        client.secrets["mail"].put("ada", "open sesame", if_rev=12345)
    assert "sesame" not in str(caught.value) + repr(caught.value)


def test_a_sealed_store_says_what_to_do(own_daemon: Daemon) -> None:
    with kura.Kura(own_daemon.socket) as client:
        client.secrets.add_slot("passphrase", new_passphrase="correct horse")
        client.secrets["mail"].put("ada", "open sesame")
        client.secrets.lock()
        with pytest.raises(kura.SealedError) as caught:
            client.secrets["mail"].get("ada")
        assert caught.value.is_retryable and "kura secrets unlock" in str(caught.value) and "client.secrets.unlock" in str(caught.value)
        with pytest.raises(kura.WrongKeyError):
            client.secrets.unlock(passphrase="wrong")
        client.secrets.unlock(passphrase="correct horse")
        assert client.secrets["mail"].get("ada") is not None
