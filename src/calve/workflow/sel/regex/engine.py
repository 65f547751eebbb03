"""Running a compiled pattern: backtracking with an explicit stack, one meter tick an instruction."""

from __future__ import annotations

from calve.workflow.sel.errors import value_error
from calve.workflow.sel.limits import Meter
from calve.workflow.sel.regex.classes import LINE_ENDS, is_word
from calve.workflow.sel.regex.compiler import compile_pattern
from calve.workflow.sel.regex.program import Code, Instruction, Program

Slots = tuple[int, ...]
#: Where to go on: the instruction, the position in the text, the positions remembered.
Thread = tuple[int, int, Slots]
_CHARGE_MASK = 1023


class _Machine:
    """One text, and the meter that every step is counted on."""

    def __init__(self, meter: Meter, text: str) -> None:
        self.meter = meter
        self.text = text

    def search(self, program: Program, start: int) -> Slots | None:
        """The first match at or after `start`; slots 0 and 1 are its ends."""
        blank = (-1,) * program.slots
        for begin in range(start, len(self.text) + 1):
            found = self.run(program.instructions, begin, blank)
            if found is not None:
                end, slots = found
                return (begin, end, *slots[2:])
        return None

    def run(
        self, code: list[Instruction], start: int, slots: Slots, end_at: int | None = None
    ) -> tuple[int, Slots] | None:
        """Match from `start` (up to exactly `end_at`, if given): the end, and where the groups are."""
        waiting: list[Thread] = [(0, start, slots)]
        while waiting:
            end = self.follow(code, waiting)
            if end is not None and (end_at is None or end[0] == end_at):
                return end
        return None

    def follow(self, code: list[Instruction], waiting: list[Thread]) -> tuple[int, Slots] | None:
        """Take the newest choice that waits, and follow it to the end of the pattern or to where it fails."""
        counter, position, slots = waiting.pop()
        text = self.text
        while True:
            self.meter.visit()
            instruction = code[counter]
            kind = instruction[0]
            if kind is Code.SET:
                if position >= len(text) or not instruction[1](text[position]):
                    return None
                position += 1
                counter += 1
            elif kind is Code.SPLIT:
                self.wait(waiting, (instruction[2], position, slots))
                counter = instruction[1]
            elif kind is Code.JUMP:
                counter = instruction[1]
            elif kind is Code.END:
                return position, slots
            else:
                moved = self.other(instruction, position, slots)
                if moved is None:
                    return None
                position, slots = moved
                counter += 1

    def wait(self, waiting: list[Thread], thread: Thread) -> None:
        """Keep a choice for later; many of them count as memory."""
        if len(waiting) & _CHARGE_MASK == _CHARGE_MASK:
            self.meter.charge_objects(_CHARGE_MASK)
        waiting.append(thread)

    def other(self, instruction: Instruction, position: int, slots: Slots) -> tuple[int, Slots] | None:
        """The rarer instructions: where to go on, or None if they fail."""
        match instruction[0]:
            case Code.SAVE:
                slot = instruction[1]
                return position, (*slots[:slot], position, *slots[slot + 1 :])
            case Code.MOVED:
                return None if slots[instruction[1]] == position else (position, slots)
            case Code.AT:
                return (position, slots) if self.at(instruction[1], position) else None
            case Code.ATOMIC:
                return self.run(instruction[1], position, slots)
            case Code.BACK:
                return self.back(instruction[1], instruction[2], position, slots)
        return self.look(instruction, position, slots)

    def at(self, test: str, position: int) -> bool:
        text = self.text
        match test:
            case "start":
                return position == 0
            case "end":
                return position == len(text)
            case "last end":
                return position == len(text) or text[position:] in (
                    "\n",
                    "\r\n",
                    "\r",
                    "\u0085",
                    "\u2028",
                    "\u2029",
                )
            case "line start":
                return position == 0 or (position < len(text) and text[position - 1] in LINE_ENDS)
            case "line end":
                return position == len(text) or text[position] in LINE_ENDS
        before = position > 0 and is_word(text[position - 1])
        after = position < len(text) and is_word(text[position])
        return (before != after) is (test == "word edge")

    def back(self, slot: int, fold: bool, position: int, slots: Slots) -> tuple[int, Slots] | None:
        if slots[slot] < 0 or slots[slot + 1] < 0:
            return None
        wanted = self.text[slots[slot] : slots[slot + 1]]
        self.meter.charge_text(len(wanted))
        found = self.text[position : position + len(wanted)]
        same = found.lower() == wanted.lower() if fold else found == wanted
        return (position + len(wanted), slots) if same else None

    def look(self, instruction: Instruction, position: int, slots: Slots) -> tuple[int, Slots] | None:
        _, code, ahead, wanted = instruction
        found = None
        if ahead:
            found = self.run(code, position, slots)
        else:
            for start in range(position, -1, -1):
                found = self.run(code, start, slots, position)
                if found is not None:
                    break
        if (found is not None) is not wanted:
            return None
        return (position, slots if found is None else found[1])


def split(meter: Meter, pattern: str, text: str, limit: int) -> list[str]:
    """`text.split(pattern, limit)`: with limit 0, empty strings at the end are dropped."""
    parts: list[str] = []
    done = 0
    machine = _Machine(meter, text)
    program = compile_pattern(pattern)
    start = 0
    while start <= len(text) and (limit <= 0 or len(parts) < limit - 1):
        found = machine.search(program, start)
        if found is None:
            break
        begin, end = found[:2]
        # An empty match at the very beginning cuts nothing off, and one at the end neither.
        if end > 0 and (end > begin or begin < len(text)):
            parts.append(text[done:begin])
            meter.charge_objects(1)
            done = end
        start = end if end > begin else end + 1
    if not parts:
        return [text]
    parts.append(text[done:])
    while limit == 0 and parts and not parts[-1]:
        parts.pop()
    return parts


def replace_all(meter: Meter, pattern: str, replacement: str, text: str) -> str:
    """`text.replaceAll(pattern, replacement)`: `$1` and `${name}` are groups, `\\` escapes."""
    machine = _Machine(meter, text)
    program = compile_pattern(pattern)
    pieces = _replacement(program, replacement)
    made: list[str] = []
    done = start = 0
    while start <= len(text):
        found = machine.search(program, start)
        if found is None:
            break
        made.append(text[done : found[0]])
        for piece in pieces:
            added = piece if isinstance(piece, str) else text[found[piece] : found[piece + 1]]
            meter.charge_text(len(added))
            made.append(added)
        meter.charge_objects(1)
        done = found[1]
        start = done if found[1] > found[0] else done + 1
    made.append(text[done:])
    return "".join(made)


def _replacement(program: Program, text: str) -> list[str | int]:
    """The pieces of a replacement: text, or the first slot of a group."""
    pieces: list[str | int] = []
    at = 0
    while at < len(text):
        character = text[at]
        at += 1
        if character == "\\":
            if at >= len(text):
                raise value_error("the replacement ends in a backslash")
            pieces.append(text[at])
            at += 1
        elif character == "$":
            slot, at = _group(program, text, at)
            pieces.append(slot)
        else:
            pieces.append(character)
    return pieces


def _group(program: Program, text: str, at: int) -> tuple[int, int]:
    if text.startswith("{", at) and "}" in text[at:]:
        end = text.index("}", at)
        number = program.names.get(text[at + 1 : end], -1)
        after = end + 1
    else:
        digit = text[at : at + 1]
        number = int(digit) if digit and digit in "0123456789" else -1
        after = at + 1
        while (
            text[after : after + 1].isdecimal()
            and number >= 0
            and number * 10 + int(text[after]) <= program.groups
        ):
            number = number * 10 + int(text[after])
            after += 1
    slot = 0 if number == 0 else program.names.get(f"#{number}", -1)
    if slot < 0:
        raise value_error(
            "the replacement names a group that the pattern does not have", "Write \\$ for a dollar."
        )
    return slot, after
