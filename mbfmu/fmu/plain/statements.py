"""C as kernels have it -> the same statements as guidelines for controllers ask for them (MISRA C:2012)."""

import re
from collections.abc import Iterator

TOKEN = re.compile(
    r"\s+|/\*.*?\*/|^[ \t]*#(?:[^\n\\]|\\.)*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|\(void\)|\w+|.",
    re.DOTALL | re.MULTILINE,
)
"""Tokens of C; a line of the preprocessor is one, with those that continue it."""
UNUSED = {"memcpy", "memmove", "memset"}
"""Functions whose result nothing uses."""
ENDS = {"", ";", "{", "}", ")", "else"}
"""Tokens after which a statement begins."""
VALUE = re.compile(r"\w+(?:(?:->|\.)\w+|\[\w+\])*")
"""A condition that is a number or an address, which is to be compared with 0 or NULL."""
ADDRESS = re.compile(r"res\[\d+\]|(?:\w+->)?d|amounts")
"""Addresses among them."""


def guarded(text: str) -> str:
    """Return a C file whose statements keep to three rules, with the same meaning.

    Every body of a condition or loop has braces (15.6), a condition is a comparison (14.4), and a result that nothing
    uses is cast to void (17.7).
    """
    return "".join(_Statements(TOKEN.findall(text)).all())


class _Statements:
    """The tokens of a file, read from the first to the last."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.index, self.line = tokens, 0, ""

    def all(self) -> Iterator[str]:
        """Return the tokens with what is added."""
        while self.index < len(self.tokens):
            yield from self.token()

    def token(self) -> Iterator[str]:
        """Return the next token, or the statement that begins with it."""
        word = self.tokens[self.index]
        if word in {"if", "for", "while"}:
            yield from self.controlled()
            return
        if word == "do":
            yield self.take()
            yield from self.body()
            yield from (*self.space(), self.take(), *self.space(), *self.group())
            return
        if word in UNUSED and self.before() in ENDS:
            yield "(void)"
        yield self.take()

    def controlled(self) -> Iterator[str]:
        """Return a condition or loop with its body, and what follows by `else`."""
        keyword = self.take()
        condition = [*self.space(), *self.group()]
        inner = "".join(condition).strip()[1:-1]
        if keyword != "for" and VALUE.fullmatch(inner):
            condition = [f" ({inner} != {'NULL' if ADDRESS.fullmatch(inner) else '0'})"]
        yield from (keyword, *condition)
        yield from self.body()
        if keyword != "if":
            return
        if self.next() != "else":
            return
        yield from (*self.space(), self.take())
        if self.next() == "if":
            yield from (*self.space(), *self.controlled())
        else:
            yield from self.body()

    def body(self) -> Iterator[str]:
        """Return a statement in braces."""
        margin = re.search(r"(?:^|\n)([ \t]*)[^\n]*$", self.line)
        space = "".join(self.space())
        if self.tokens[self.index] == "{":
            yield from (space, *self.block())
            return
        yield f" {{{space or ' '}"
        yield from self.statement()
        yield f"\n{margin[1] if margin else ''}}}" if "\n" in space else " }"

    def statement(self) -> Iterator[str]:
        """Return a statement that is no block."""
        if self.tokens[self.index] in {"if", "for", "while", "do"}:
            yield from self.token()
            if self.tokens[self.index - 1] == ")":  # the end of do
                yield from (*self.space(), self.take())
            return
        depth = 0
        while True:
            word = self.tokens[self.index]
            depth += (word in "([{") - (word in ")]}")
            yield from self.token()
            if word == ";" and not depth:
                return

    def block(self) -> Iterator[str]:
        """Return a block."""
        depth = 0
        while True:
            word = self.tokens[self.index]
            depth += (word == "{") - (word == "}")
            yield from self.token()
            if word == "}" and not depth:
                return

    def group(self) -> Iterator[str]:
        """Return what stands in parentheses."""
        depth = 0
        while True:
            word = self.take()
            depth += (word == "(") - (word == ")")
            yield word
            if word == ")" and not depth:
                return

    def space(self) -> Iterator[str]:
        """Return spaces, comments and lines of the preprocessor up to the next token."""
        while self.index < len(self.tokens) and self.is_space(self.tokens[self.index]):
            yield self.take()

    def take(self) -> str:
        """Return the next token, and pass it."""
        word = self.tokens[self.index]
        self.index += 1
        self.line = word.rpartition("\n")[2] if "\n" in word else self.line + word
        return word

    def before(self) -> str:
        """Return the token before the next one."""
        words = (self.tokens[index] for index in range(self.index - 1, -1, -1))
        return next((word for word in words if not self.is_space(word)), "")

    def next(self) -> str:
        """Return the next token that is no space."""
        words = (self.tokens[index] for index in range(self.index, len(self.tokens)))
        return next((word for word in words if not self.is_space(word)), "")

    @staticmethod
    def is_space(word: str) -> bool:
        """Return whether a token is none for a compiler."""
        return not word.strip() or word.startswith("/*") or word.lstrip().startswith("#")
