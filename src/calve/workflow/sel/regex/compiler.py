"""From the text of a pattern to its program: a recursive descent that writes instructions as it reads."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from calve.workflow.sel.regex import classes
from calve.workflow.sel.regex.classes import Accepts
from calve.workflow.sel.regex.program import Code, Instruction, Program, bad_pattern

_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_MAX_GROUP_DEPTH = 40
_MAX_COUNT = 10_000


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Program:
    """The program of a pattern."""
    compiler = _Compiler(pattern)
    compiler.alternatives(0)
    if compiler.at < len(pattern):
        raise bad_pattern(f"unmatched ) at {compiler.at}")
    compiler.program.add(Code.END)
    return compiler.program


class _Compiler:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.program = Program()
        self.fold = self.dot_all = self.multiline = False

    # Reading

    def peek(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def take(self, text: str) -> bool:
        if self.peek(text):
            self.at += len(text)
            return True
        return False

    def next(self) -> str:
        if self.at >= len(self.pattern):
            raise bad_pattern("it ends too early")
        self.at += 1
        return self.pattern[self.at - 1]

    def until(self, end: str) -> str:
        stop = self.pattern.find(end, self.at)
        if stop < 0:
            raise bad_pattern(f"{end} is missing")
        found, self.at = self.pattern[self.at : stop], stop + len(end)
        return found

    # Structure

    def alternatives(self, depth: int) -> None:
        """`a|b|c`: whole branches are written first, and then moved behind the choice."""
        if depth > _MAX_GROUP_DEPTH:
            raise bad_pattern("its groups are nested too deep")
        branches = [self.detached(lambda: self.sequence(depth))]
        while self.take("|"):
            branches.append(self.detached(lambda: self.sequence(depth)))
        jumps = []
        for branch in branches[:-1]:
            split = self.program.add(Code.SPLIT, 0, 0)
            self.attach(branch)
            jumps.append(self.program.add(Code.JUMP, 0))
            after = len(self.program.instructions)
            self.program.instructions[split] = (Code.SPLIT, split + 1, after)
        self.attach(branches[-1])
        for jump in jumps:
            self.program.instructions[jump] = (Code.JUMP, len(self.program.instructions))

    def sequence(self, depth: int) -> None:
        while self.at < len(self.pattern) and not self.peek("|") and not self.peek(")"):
            self.repeated(self.detached(lambda: self.atom(depth)))

    def detached(self, write: Callable[[], None]) -> list[Instruction]:
        """What `write` adds, taken out again, with targets counted from its beginning."""
        start = len(self.program.instructions)
        write()
        made = self.program.instructions[start:]
        del self.program.instructions[start:]
        return [_moved(instruction, -start) for instruction in made]

    def attach(self, part: list[Instruction]) -> None:
        start = len(self.program.instructions)
        for instruction in part:
            self.program.add(*_moved(instruction, start))

    # Repetition

    def repeated(self, part: list[Instruction]) -> None:
        least, most = self.counts()
        if (least, most) == (1, 1):
            self.attach(part)
            return
        if self.take("+"):
            inner = self.detached(lambda: self.repeat(part, least, most, lazy=False))
            self.program.add(Code.ATOMIC, _closed(self.program, inner))
        else:
            self.repeat(part, least, most, lazy=self.take("?"))
        if self.peek("*") or self.peek("+") or self.peek("?"):
            raise bad_pattern(f"nothing to repeat at {self.at}")

    def counts(self) -> tuple[int, int | None]:
        if self.take("*"):
            return 0, None
        if self.take("+"):
            return 1, None
        if self.take("?"):
            return 0, 1
        if not self.take("{"):
            return 1, 1
        least, comma, most = self.until("}").partition(",")
        if not least.isdecimal() or (most and not most.isdecimal()) or len(least + most) > 10:
            raise bad_pattern("a repetition is {n}, {n,} or {n,m}")
        low = int(least)
        high = int(most) if most else None if comma else low
        if low > _MAX_COUNT or (high is not None and not low <= high <= _MAX_COUNT):
            raise bad_pattern("a repetition is out of range")
        return low, high

    def repeat(self, part: list[Instruction], least: int, most: int | None, *, lazy: bool) -> None:
        for _ in range(least):
            self.attach(part)
        if most is None:
            self.loop(part, lazy)
            return
        splits = []
        for _ in range(most - least):
            splits.append(self.program.add(Code.SPLIT, 0, 0))
            self.attach(part)
        after = len(self.program.instructions)
        for split in splits:
            self.program.instructions[split] = _choice(split + 1, after, lazy)

    def loop(self, part: list[Instruction], lazy: bool) -> None:
        slot = self.program.slots
        self.program.slots += 1
        split = self.program.add(Code.SPLIT, 0, 0)
        self.program.add(Code.SAVE, slot)
        self.attach(part)
        self.program.add(Code.MOVED, slot)
        self.program.add(Code.JUMP, split)
        self.program.instructions[split] = _choice(split + 1, len(self.program.instructions), lazy)

    # Atoms

    def atom(self, depth: int) -> None:
        character = self.next()
        if character == "(":
            self.group(depth)
        elif character == "[":
            self.program.add(Code.SET, self.character_class())
        elif character == ".":
            everything = self.dot_all
            self.program.add(Code.SET, lambda c: everything or c not in classes.LINE_ENDS)
        elif character == "^":
            self.program.add(Code.AT, "line start" if self.multiline else "start")
        elif character == "$":
            self.program.add(Code.AT, "line end" if self.multiline else "last end")
        elif character == "\\":
            self.escape()
        elif character in "*+?{":
            raise bad_pattern(f"nothing to repeat at {self.at - 1}")
        else:
            self.program.add(Code.SET, classes.one(character, self.fold))

    def group(self, depth: int) -> None:
        if not self.take("?"):
            self.capture(depth)
        elif self.peek("<") and not self.peek("<=") and not self.peek("<!"):
            self.at += 1
            name = self.until(">")
            if not (name.isascii() and name.isalnum() and name[0].isalpha()):
                raise bad_pattern("the name of a group is letters and digits")
            self.program.names[name] = self.program.groups + 1
            self.capture(depth)
        elif self.take(">"):
            self.program.add(Code.ATOMIC, _closed(self.program, self.inside(depth)))
        elif self.peek("=") or self.peek("!") or self.peek("<"):
            ahead = not self.take("<")
            wanted = self.next() == "="
            self.program.add(Code.LOOK, _closed(self.program, self.inside(depth)), ahead, wanted)
        else:
            self.flagged(depth)

    def capture(self, depth: int) -> None:
        self.program.groups += 1
        slot = self.program.slots
        self.program.slots += 2
        number = self.program.groups
        self.program.names[f"#{number}"] = slot
        self.program.add(Code.SAVE, slot)
        self.attach(self.inside(depth))
        self.program.add(Code.SAVE, slot + 1)

    def inside(self, depth: int) -> list[Instruction]:
        flags = (self.fold, self.dot_all, self.multiline)
        made = self.detached(lambda: self.alternatives(depth + 1))
        self.fold, self.dot_all, self.multiline = flags
        if not self.take(")"):
            raise bad_pattern(") is missing")
        return made

    def flagged(self, depth: int) -> None:
        before = (self.fold, self.dot_all, self.multiline)
        setting = True
        while True:
            flag = self.next()
            if flag == ")":
                return
            if flag == ":":
                made = self.detached(lambda: self.alternatives(depth + 1))
                if not self.take(")"):
                    raise bad_pattern(") is missing")
                self.fold, self.dot_all, self.multiline = before
                self.attach(made)
                return
            setting = self.flag(flag, setting)

    def flag(self, flag: str, setting: bool) -> bool:
        if flag == "-":
            return False
        if flag == "i":
            self.fold = setting
        elif flag == "s":
            self.dot_all = setting
        elif flag == "m":
            self.multiline = setting
        elif flag != "u":
            raise bad_pattern(f"(?{flag} is not supported")
        return setting

    def escape(self) -> None:
        if self.peek("Q"):
            self.at += 1
            end = self.pattern.find("\\E", self.at)
            quoted = self.pattern[self.at :] if end < 0 else self.pattern[self.at : end]
            self.at = len(self.pattern) if end < 0 else end + 2
            for character in quoted:
                self.program.add(Code.SET, classes.one(character, self.fold))
            return
        position = {"b": "word edge", "B": "no word edge", "A": "start", "z": "end", "Z": "last end"}
        character = self.pattern[self.at : self.at + 1]
        if character in position and character:
            self.at += 1
            self.program.add(Code.AT, position[character])
        elif character in "123456789" and character:
            self.at += 1
            self.reference(f"#{character}")
        elif self.take("k<"):
            self.reference(f"#{self.program.names.get(self.until('>'), 0)}")
        else:
            self.program.add(Code.SET, self.escaped())

    def reference(self, name: str) -> None:
        if name not in self.program.names:
            raise bad_pattern("it refers to a group that it does not have")
        self.program.add(Code.BACK, self.program.names[name], self.fold)

    def escaped(self) -> Accepts:
        """The characters of an escape, inside a class or outside."""
        character = self.next()
        if character.lower() in classes.SHORTHANDS:
            accepts = classes.SHORTHANDS[character.lower()]
            return accepts if character.islower() else classes.negated(accepts)
        if character in "pP":
            name = self.until("}")[1:] if self.peek("{") else self.next()
            found = classes.PROPERTIES.get(name.removeprefix("Is"))
            if found is None:
                raise bad_pattern(f"\\p{{{name[:20]}}} is not supported")
            return found if character == "p" else classes.negated(found)
        return classes.one(self.escaped_character(character), self.fold)

    def escaped_character(self, character: str) -> str:
        if character in "xu":
            width = 2 if character == "x" else 4
            digits = self.pattern[self.at : self.at + width]
            self.at += width
            try:
                return chr(int(digits, 16))
            except ValueError:
                raise bad_pattern(f"\\{character} needs {width} hexadecimal digits") from None
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character.isalnum() and character.isascii():
            raise bad_pattern(f"\\{character} is not supported")
        return character

    # Classes

    def character_class(self, depth: int = 0) -> Accepts:
        if depth > _MAX_GROUP_DEPTH:
            raise bad_pattern("its classes are nested too deep")
        opposite = self.take("^")
        parts: list[Accepts] = []
        narrowed: Accepts | None = None
        first = True
        while first or not self.peek("]"):
            first = False
            if self.take("&&"):
                so_far = classes.either(parts)
                narrowed = so_far if narrowed is None else classes.both(narrowed, so_far)
                parts = []
                continue
            parts.append(self.class_part(depth))
        self.at += 1
        accepts = classes.either(parts)
        if narrowed is not None:
            accepts = classes.both(narrowed, accepts)
        return classes.negated(accepts) if opposite else accepts

    def class_part(self, depth: int) -> Accepts:
        if self.take("["):
            return self.character_class(depth + 1)
        start = self.class_character()
        if not isinstance(start, str):
            return start
        ranged = self.peek("-") and self.pattern[self.at + 1 : self.at + 2] not in ("]", "[", "")
        if not ranged:
            return classes.one(start, self.fold)
        self.at += 1
        end = self.class_character()
        if not isinstance(end, str) or end < start:
            raise bad_pattern("a range in a class is the wrong way round")
        return classes.between(start, end, self.fold)

    def class_character(self) -> str | Accepts:
        character = self.next()
        if character != "\\":
            return character
        following = self.pattern[self.at : self.at + 1]
        if following.lower() in classes.SHORTHANDS or following in "pP":
            return self.escaped()
        return self.escaped_character(self.next())


def _moved(instruction: Instruction, by: int) -> Instruction:
    if instruction[0] is Code.SPLIT:
        return (Code.SPLIT, instruction[1] + by, instruction[2] + by)
    if instruction[0] is Code.JUMP:
        return (Code.JUMP, instruction[1] + by)
    return instruction


def _choice(inside: int, outside: int, lazy: bool) -> Instruction:
    return (Code.SPLIT, outside, inside) if lazy else (Code.SPLIT, inside, outside)


def _closed(outer: Program, part: list[Instruction]) -> list[Instruction]:
    if len(part) + len(outer.instructions) > 20_000:
        raise bad_pattern("it is too large")
    return [*part, (Code.END,)]
