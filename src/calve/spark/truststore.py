"""The certificates that this Python trusts, as a file that a Java trusts.

Java has its own list of authorities. Behind a company's proxy the machine's list is the one
that works, and a Java from a wheel knows nothing of it.
"""

from __future__ import annotations

import hashlib
import ssl
import struct

_MAGIC = 0xFEEDFEED
_VERSION = 2
_TRUSTED_CERTIFICATE = 2
_SALT = b"Mighty Aphrodite"


def trusted_certificates() -> list[bytes]:
    """The authorities that Python trusts by default, DER-encoded; empty if it knows none."""
    return sorted(ssl.create_default_context().get_ca_certs(binary_form=True))


def to_jks(certificates: list[bytes], password: str = "changeit") -> bytes:
    """The certificates in Java's key store format. Equal input gives equal bytes."""
    body = struct.pack(">III", _MAGIC, _VERSION, len(certificates))
    for number, certificate in enumerate(certificates):
        body += struct.pack(">I", _TRUSTED_CERTIFICATE) + _text(f"authority-{number}")
        body += struct.pack(">Q", 0) + _text("X.509") + struct.pack(">I", len(certificate)) + certificate
    return body + hashlib.sha1(password.encode("utf-16-be") + _SALT + body).digest()


def _text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">H", len(encoded)) + encoded
