from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.avro.decoder import new_decoder

from calve.lake.avro import ContainerWriter, encode_bytes, encode_long, open_container
from calve.lake.avro_types import TypeCompiler, pair_value

RECORD = {
    "type": "record",
    "name": "r",
    "fields": [{"name": "a", "type": "long"}, {"name": "b", "type": ["null", "string"]}],
}


def encode(number: int, text: str | None) -> bytes:
    tail = b"\x00" if text is None else b"\x02" + encode_bytes(text.encode())
    return encode_long(number) + tail


@given(st.integers(-(2**63), 2**63 - 1))
def test_longs_are_read_back(number: int) -> None:
    assert new_decoder(encode_long(number)).read_int() == number


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.none() | st.text())))
def test_records_are_read_back_in_order(records: list[tuple[int, str | None]]) -> None:
    writer = ContainerWriter(RECORD, {"format-version": b"2"})
    for number, text in records:
        writer.append(encode(number, text))
    container = open_container(writer.finish())
    read = TypeCompiler().compile(container.schema)
    found = []
    for block in container.blocks():
        decoder = block.decoder()
        found += [read(decoder) for _ in range(block.count)]
    assert found == records
    assert container.metadata["format-version"] == b"2"


def test_the_same_records_give_the_same_file() -> None:
    def write() -> bytes:
        writer = ContainerWriter(RECORD, {})
        writer.append(encode(1, "x"))
        return writer.finish()

    assert write() == write()


def test_long_files_have_several_blocks() -> None:
    writer = ContainerWriter(RECORD, {})
    for number in range(3):
        writer.append(encode(number, "x" * 200_000))
    assert [block.count for block in open_container(writer.finish()).blocks()] == [2, 1]


def test_a_file_of_another_kind_is_told() -> None:
    with pytest.raises(ValueError, match="not an Avro file"):
        open_container(b"PAR1 and more")


@pytest.mark.parametrize("cut", [1, 17, 40])
def test_a_file_that_was_cut_short_is_told(cut: int) -> None:
    writer = ContainerWriter(RECORD, {})
    writer.append(encode(1, "x" * 100))
    with pytest.raises((ValueError, EOFError)):
        list(open_container(writer.finish()[:-cut]).blocks())


def test_every_type_of_avro_is_read() -> None:
    schema = {
        "type": "record",
        "name": "all",
        "fields": [
            {"name": "m", "type": {"type": "map", "values": "int"}},
            {"name": "f", "type": {"type": "fixed", "name": "f3", "size": 3}},
            {"name": "again", "type": "f3"},
            {"name": "l", "type": {"type": "array", "items": "string"}},
            {"name": "u", "type": ["int", "null"]},
            {"name": "t", "type": {"type": "int", "logicalType": "date"}},
            {"name": "ints", "type": {"type": "array", "items": "long"}},
        ],
    }
    # The map and the last array are written in blocks that give their size in bytes.
    data = b"".join(
        [
            encode_long(-1) + encode_long(3) + encode_bytes(b"k") + encode_long(7) + b"\x00",
            b"abc",
            b"def",
            encode_long(2) + encode_bytes(b"x") + encode_bytes(b"y") + b"\x00",
            encode_long(1),
            encode_long(19000),
            encode_long(-2)
            + encode_long(2)
            + encode_long(5)
            + encode_long(6)
            + encode_long(1)
            + encode_long(9)
            + b"\x00",
        ]
    )
    read = TypeCompiler().compile(schema)
    assert read(new_decoder(data)) == ({"k": 7}, b"abc", b"def", ("x", "y"), None, 19000, (5, 6, 9))


def test_flat_maps_are_looked_up_by_key_not_by_value() -> None:
    pairs = (1, 2, 3, 4)
    assert (pair_value(pairs, 1), pair_value(pairs, 3), pair_value(pairs, 2)) == (2, 4, None)
    assert pair_value(None, 1) is None
