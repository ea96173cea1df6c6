"""The command line, from typer itself: every command, argument and option with its help."""

from __future__ import annotations

from typing import Any

import typer

from steelyard.cli import app


def pages() -> dict[str, str]:
    """One page with all commands."""
    parts = [
        "# Command line\n",
        f"What `steelyard --help` says, in full. {exit_codes()}\n",
    ]
    for words, command in commands():
        title = " ".join(words)
        parts.append(f"## `{title}`\n\n{paragraphs(command.help)}\n\n```text\n{usage(title, command)}\n```\n")
        parts += [table(command, kind) for kind in ("argument", "option")]
    return {"commands.md": "\n".join(part for part in parts if part)}


def exit_codes() -> str:
    """What the help of all says of them."""
    return paragraphs(typer.main.get_command(app).help).rpartition("\n\n")[2]


def commands() -> list[tuple[tuple[str, ...], Any]]:
    """Every command with the words that call it, in the order of ``--help``."""
    found: list[tuple[tuple[str, ...], Any]] = []

    def walk(words: tuple[str, ...], command: Any) -> None:
        if subcommands := getattr(command, "commands", None):
            for name, sub in subcommands.items():
                if not sub.hidden:
                    walk((*words, name), sub)
        else:
            found.append((words, command))

    walk(("steelyard",), typer.main.get_command(app))
    return found


def options(command: Any) -> list[str]:
    """The spellings of all options of a command."""
    found = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    return [name for p in found for name in (*p.opts, *p.secondary_opts)]


def usage(title: str, command: Any) -> str:
    """The line to type."""
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    given = " ".join(p.name.upper() if p.required else f"[{p.name.upper()}]" for p in arguments)
    return f"{title} {given} [OPTIONS]".replace("  ", " ")


def table(command: Any, kind: str) -> str:
    """Arguments or options with help, range and default."""
    rows = [p for p in command.params if p.param_type_name == kind and not getattr(p, "hidden", False)]
    if not rows:
        return ""
    lines = [f"| {kind} | what it is | default |", "|---|---|---|"]
    for p in rows:
        shown = [*p.opts, *p.secondary_opts] if kind == "option" else [p.name.upper()]
        name = ", ".join(f"`{each}`" for each in shown)
        lines.append(f"| {name}{kind_of(p)} | {cell(p.help)} | {default_of(p)} |")
    return "\n".join(lines) + "\n"


def kind_of(parameter: Any) -> str:
    """What follows the name of an option: a word for its type, nothing for a flag."""
    if getattr(parameter, "is_flag", False) or parameter.param_type_name == "argument":
        return ""
    kind = parameter.type_descriptor.annotation
    if parameter.multiple:
        return " TEXT ..."
    word = {"str": "TEXT", "int": "INTEGER", "float": "NUMBER", "Path": "FILE"}.get(
        kind.__name__, kind.__name__.upper()
    )
    low, high = parameter.min, parameter.max
    if low is not None and high is not None:
        return f" {word}, {low} to {high}"
    return f" {word}, from {low}" if low is not None else f" {word}"


def default_of(parameter: Any) -> str:
    """The default as one would type it."""
    value = parameter.default
    if parameter.required:
        return "required"
    if value is True:
        return f"`{parameter.opts[0]}`"
    if value is None or value is False or callable(value) or value == () or value == []:
        return ""
    return f"`{cell(str(value))}`"


def paragraphs(text: str | None) -> str:
    """Help as paragraphs: lines of one paragraph joined."""
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n"))


def cell(text: str | None) -> str:
    """Text that cannot end a cell of a table."""
    return " ".join((text or "").split()).replace("|", "\\|").replace("[", "\\[")
