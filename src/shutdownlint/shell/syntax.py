"""The words, commands and pipelines of shell scripts."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint import limits

if TYPE_CHECKING:
    from collections.abc import Sequence

SHELLS: Final = frozenset(("sh", "bash", "ash", "dash", "ksh", "mksh", "zsh", "busybox"))
INIT_WRAPPERS: Final = frozenset(
    ("tini", "dumb-init", "catatonit", "s6-svscan", "init", "tini-static")
)
OPENS: Final = {
    "while": "done",
    "until": "done",
    "for": "done",
    "if": "fi",
    "case": "esac",
    "{": "}",
    "(": ")",
}
_JOINS: Final = frozenset((";", "&&", "||", "|", "&", ";;", "|&"))


def base_name(program: str) -> str:
    """``/bin/sh`` → ``sh``."""
    return program.rstrip("/").rpartition("/")[2]


def is_shell(program: str) -> bool:
    """Whether a program is a POSIX shell, by its name."""
    return base_name(program) in SHELLS


def shell_script(command: Sequence[str]) -> str | None:
    """Return the script of ``sh -c SCRIPT``; None for anything else."""
    words = list(command)
    if words and base_name(words[0]) == "env":
        words = words[1:]
    if words and base_name(words[0]) == "busybox":
        words = words[1:]
    if len(words) < 2 or not is_shell(words[0]):
        return None
    index, runs_script = 1, False
    while index < len(words) and words[index].startswith(("-", "+")) and words[index] != "--":
        word = words[index]
        cluster = word[1:] if not word.startswith("--") else ""
        runs_script = runs_script or (word.startswith("-") and "c" in cluster)
        index += 2 if cluster.endswith(("o", "O")) else 1  # it takes an option's name
    rest = [word for word in words[index:] if word != "--"]
    return rest[0] if runs_script and rest else None


def shell_name(command: Sequence[str]) -> str:
    """Return the shell of ``sh -c SCRIPT``: the word before its options."""
    return next((base_name(word) for word in command if is_shell(word)), "sh")


class Step(Struct, frozen=True):
    """A command of a script (its words) or a compound one, and what joins it to the next."""

    words: tuple[str, ...]
    join: str
    compound: bool = False


def tokens(script: str) -> list[str] | None:
    """Return the words and operators of a script; None where the quoting cannot be followed."""
    found = _tokens(script)
    return list(found) if found is not None else None


@lru_cache(maxsize=256)
def _tokens(script: str) -> tuple[str, ...] | None:
    if len(script) > limits.MAX_SCRIPT_LENGTH:
        return None
    text = re.sub(r"\\\r?\n", " ", script)
    # A redirection's "&" is no operator. What stays is a redirection that bare_words leaves out.
    text = re.sub(r"(?<=\s)(?:[0-9]*[<>]&[0-9-]+|&>>?\s*\S+)", " >_ ", _cover_substitutions(text))
    lines = []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            continue
        lines.append(re.sub(r"\s#.*$", "", line) if "'" not in line and '"' not in line else line)
    joined = "\n".join(lines)
    found = _lex(joined) if len(joined) <= 2 * limits.MAX_SCRIPT_LENGTH else None
    return tuple(found) if found is not None else None


def _lex(text: str) -> list[str] | None:
    import shlex  # noqa: PLC0415 - only where there is a script

    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        raw = list(lexer)
    except ValueError:
        return None
    result: list[str] = []
    for token in raw:
        if set(token) <= set(";&|()\n") and token:
            result.extend(_operators(token))
        else:
            result.append(token)
    return result


def _operators(token: str) -> list[str]:
    found = re.findall(r"&&|\|\||\|&|;;|[;&|()\n]", token)
    return [";" if op == "\n" else op for op in found]


def _cover_substitutions(text: str) -> str:
    """Replace ``$(…)`` and backticks by a word that cannot be read, so that words stay words."""
    out: list[str] = []
    index = 0
    while index < len(text):
        if text.startswith("$((", index) or not text.startswith(("$(", "`"), index):
            out.append(text[index])
            index += 1
            continue
        end = _closing(text, index)
        out.append("$__substitution__")
        index = end
    return "".join(out)


def _closing(text: str, start: int) -> int:
    if text[start] == "`":
        end = text.find("`", start + 1)
        return len(text) if end < 0 else end + 1
    depth = 0
    for index in range(start + 1, len(text)):
        if text[index] == "(":
            depth += 1
        elif text[index] == ")":
            depth -= 1
            if depth == 0:
                return index + 1
    return len(text)


def split_steps(words: Sequence[str]) -> list[Step]:
    steps: list[Step] = []
    current: list[str] = []
    closers: list[str] = []
    compound = False
    for word in words:
        starts = not current or (closers and current[-1] in ("do", "then", "else"))
        if word in OPENS and (starts or closers):
            closers.append(OPENS[word])
            compound = True
        elif closers and word == closers[-1]:
            closers.pop()
        if word in _JOINS and not closers:
            if current:
                steps.append(Step(tuple(current), word, compound))
            elif steps and word != ";":
                steps[-1] = Step(steps[-1].words, word, steps[-1].compound)
            current, compound = [], False
        else:
            current.append(word)
    if current:
        steps.append(Step(tuple(current), "", compound))
    return steps


class Pipeline(Struct, frozen=True):
    """Commands joined by pipes, and what joins the last of them to what follows."""

    steps: tuple[Step, ...]

    @property
    def join(self) -> str:
        return self.steps[-1].join

    @property
    def name(self) -> str:
        """The program of a pipeline of one simple command, else empty."""
        step = self.steps[0]
        words = bare_words(step.words)
        alone = len(self.steps) == 1 and not step.compound and words
        return base_name(words[0]) if alone else ""


def pipelines(steps: Sequence[Step]) -> list[Pipeline]:
    found: list[Pipeline] = []
    current: list[Step] = []
    for step in steps:
        current.append(step)
        if step.join not in ("|", "|&"):
            found.append(Pipeline(tuple(current)))
            current = []
    return [*found, Pipeline(tuple(current))] if current else found


def bare_words(words: Sequence[str]) -> list[str]:
    """Return the words of a simple command without assignments and redirections."""
    result: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif re.match(r"[0-9]*(?:>>?|<)&?$", word):
            skip = True
        elif (
            re.match(r"[0-9]*(?:>>?|<)", word)
            or (not result and re.match(r"\w+=", word))
            or (word in ("!", "time", "nohup", "command", "builtin") and not result)
        ):
            continue
        else:
            result.append(word)
    return result


def misquoted_command(script: str) -> str | None:
    """Return the whole command when inner quotes make a shell look for one program of that name."""
    words = tokens(script)
    if words is not None and len(words) == 1 and re.match(r"\w+ \S", words[0]):
        stripped = script.strip()
        if stripped[:1] in ("'", '"') and stripped[-1:] == stripped[:1]:
            return words[0]
    return None
