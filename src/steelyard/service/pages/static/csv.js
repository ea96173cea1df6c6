// CSV as the service reads it: a header, cells in quotes may hold commas, quotes twice, and line breaks.
export function* records(text) {
  let cells = [], cell = "", quoted = false, began = false, at = text.charCodeAt(0) === 0xfeff ? 1 : 0;
  for (; at < text.length; at += 1) {
    const c = text[at];
    if (quoted) {
      if (c !== '"') cell += c;
      else if (text[at + 1] === '"') cell += '"', at += 1;
      else quoted = false;
    } else if (c === '"' && cell === "") quoted = began = true;
    else if (c === ",") cells.push(cell), cell = "", began = true;
    else if (c === "\n" || c === "\r") {
      if (c === "\r" && text[at + 1] === "\n") at += 1;
      if (began || cell !== "") yield { cells: [...cells, cell], end: at + 1 };
      cells = [], cell = "", began = false;
    } else cell += c;
  }
  if (began || cell !== "" || cells.length) yield { cells: [...cells, cell], end: text.length, open: quoted };
}

// The first whole records of a text, at most so many characters.
export function sample(text, most) {
  if (text.length <= most) return text;
  let end = 0;
  for (const record of records(text.slice(0, most))) if (record.end < most) end = record.end;
  return text.slice(0, end);
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

// A cell as the kind of its column wants it; what is no number stays a text, and the service says so.
export function value(cell, kind) {
  if (cell === "") return null;
  if (kind === "number" && NUMBER.test(cell.trim()) && Math.abs(Number(cell)) < 1e100) return Number(cell);
  return cell;
}
