"""The index of all records: by name, module and image. The user's own come first."""

from __future__ import annotations

from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import DecodeError, Struct, msgpack

from shutdownlint import files
from shutdownlint.installation import (
    COMPILED_PROGRAMS,
    bundled_programs,
    checkout_state,
    read_compiled,
)
from shutdownlint.programs.record import Program  # noqa: TC001 - the library reads the types

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shutdownlint.programs.record import Image


#: The JVM takes further options from here.
JAVA_OPTIONS: Final = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")


class CompiledPrograms(Struct, array_like=True, frozen=True):
    """The bundled records by file name, and the state of the checkout that they are of."""

    state: str
    programs: dict[str, Program]


class KnownPrograms:
    """The records that a run knows."""

    def __init__(self, programs: Iterable[Program]) -> None:
        self.programs = tuple(programs)
        #: The records by a name that starts them, those that need another word first.
        self._by_name: dict[str, list[tuple[str, Program]]] = {}
        self._by_module: dict[str, list[tuple[str, Program]]] = {}
        self._by_image: dict[str, list[tuple[Image, Program]]] = {}
        for program in self.programs:
            for names, index in (
                (program.programs, self._by_name),
                (program.modules, self._by_module),
            ):
                for each in names:
                    name, _, word = each.partition(" ")
                    index.setdefault(name, []).append((word, program))
            for image in program.images:
                self._by_image.setdefault(image.name, []).append((image, program))
        for entries in (*self._by_name.values(), *self._by_module.values()):
            entries.sort(key=lambda entry: not entry[0])
        #: The records that take times, or switches, from settings.
        self.with_settings = tuple(
            each
            for each in self.programs
            if each.settings or each.evidence or each.waits_only_if_asked or each.cuts_if
        )

    @cached_property
    def config_map_words(self) -> tuple[tuple[bytes, ...], ...]:
        """The groups of words of a ConfigMap that some program reads: all of a group are in it."""
        words: set[tuple[str, ...]] = set()
        for program in self.programs:
            settings = program.settings
            words.update((name,) for name in program.config_map_words)
            # envFrom may put a prefix in front of a key.
            variables = [name for each in settings for name in each.variables]
            words.update((name.partition("_")[2] or name,) for name in variables)
            words.update((each.directive,) for each in settings if each.directive)
            words.add((program.arguments_from,))
            properties = [name for each in settings for name in each.properties]
            for switch in program.switches:
                words.add((switch.variable,))
                properties += [] if switch.is_variable else [switch.setting]
            # Their files may nest them, and have the name of a profile.
            roots = {name.partition(".")[0] for name in properties}
            words.update((file, r) for r in roots for file in ("application.", "application-"))
        return tuple(
            tuple(w.encode(errors="surrogatepass") for w in group)
            for group in sorted(words)
            if all(group)
        )

    @cached_property
    def variables(self) -> frozenset[str]:
        """The variables that programs read."""
        names = {name for p in self.programs for each in p.settings for name in each.variables}
        names |= {switch.variable for p in self.programs for switch in p.switches}
        return frozenset(names | {p.arguments_from for p in self.programs} - {""})

    @cached_property
    def variable_prefixes(self) -> tuple[str, ...]:
        """The beginnings of variables that show a program, or set options of its runtime."""
        evidence = {prefix for program in self.programs for prefix in program.evidence}
        return tuple(sorted(evidence.union(JAVA_OPTIONS)))

    def find(
        self, name: str, arguments: Sequence[str] = (), module: str | None = None
    ) -> Iterator[Program]:
        """Yield the programs of that name, or of Python's module, the best match first."""
        words = {*arguments, *(text.rpartition("/")[2] for text in arguments)}
        plain = "python3" if name.startswith("python3.") else name
        for word, program in (
            *self._by_module.get(module or "", ()),
            *self._by_name.get(plain, ()),
        ):
            if (not word or word in words) and words.isdisjoint(program.without):
                yield program

    def of_image(self, official: str, path: str) -> list[tuple[Image, Program]]:
        """Return what is known of an image, by its official name or its path.

        A mirror's name may come before the path: ``mirror.example.com/otel/collector``.
        """
        if official:
            return self._by_image.get(official, [])
        rest = path
        while "/" in rest:
            found = self._by_image.get(rest)
            if found is not None:
                return found
            rest = rest.partition("/")[2]
        return []


def load_bundled() -> dict[str, Program]:
    """Return the records that come with shutdownlint, by the name of their file."""
    return _compiled().programs


def with_bundled(own: Iterable[Program]) -> KnownPrograms:
    """Return the index of the user's own records and the bundled ones."""
    return KnownPrograms((*own, *load_bundled().values()))


@cache
def bundled() -> KnownPrograms:
    """Return the index of the bundled records."""
    return with_bundled(())


def compile_programs(*, in_checkout: bool) -> bytes:
    """Compile the bundled records into the data that is read from the package.

    ``in_checkout``: it is used only as long as the files of the checkout stay the same. Raises
    ``ProgramFileError`` for a mistake in a file.
    """
    from shutdownlint.programs.record_file import (  # noqa: PLC0415 - runs read compiled records
        load_record,
    )

    with files.without_recording():
        paths = sorted(map(Path, files.files_below(bundled_programs(), ".yaml")))
        found = {path.name: load_record(path) for path in paths}
    return msgpack.encode(CompiledPrograms(checkout_state() if in_checkout else "", found))


def write_compiled_programs() -> None:
    """Write the compiled records of a checkout, where they are read."""
    Path(COMPILED_PROGRAMS).write_bytes(compile_programs(in_checkout=True))


_DECODER: Final = msgpack.Decoder(CompiledPrograms)


@cache
def _compiled() -> CompiledPrograms:
    try:
        compiled = _DECODER.decode(read_compiled(COMPILED_PROGRAMS))
    except (OSError, DecodeError):
        compiled = None
    if compiled is None or compiled.state != checkout_state():
        compiled = _DECODER.decode(compile_programs(in_checkout=True))
    return compiled
