"""The look of a report: one style sheet, light and dark, readable on a phone, nothing fetched from anywhere."""

STYLE = """
:root { color-scheme: light dark; --ink: #1d2330; --soft: #5d6675; --line: #dfe3ea; --paper: #ffffff; --card: #f6f7f9;
  --accent: #b5482f; --best: #e3f2e6; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ec; --soft: #9aa3b2; --line: #333a46; --paper: #15181e;
  --card: #1e232b; --accent: #e58a70; --best: #1f3a27; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, -apple-system, "Segoe UI",
  Roboto, "Noto Sans", sans-serif; -webkit-text-size-adjust: 100%; }
main, header, footer { max-width: 64rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 2.2rem; border-bottom: 3px solid var(--accent); padding-bottom: 1rem; }
h1 { font-size: 1.9rem; font-size: clamp(1.5rem, 5vw, 2.3rem); line-height: 1.15; margin: 0 0 .3rem; }
h2 { font-size: 1.3rem; margin: 2.4rem 0 .5rem; line-height: 1.25; }
header p { color: var(--soft); margin: 0; }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1rem; padding: .8rem 0 0; font-size: .92rem; }
a { color: var(--accent); }
p { margin: .6rem 0; max-width: 46rem; overflow-wrap: anywhere; }
small, caption, figcaption { color: var(--soft); font-size: .86rem; }
.scroll { overflow-x: auto; margin: .9rem 0; -webkit-overflow-scrolling: touch; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .94rem; min-width: 50%; }
caption { text-align: left; padding-bottom: .4rem; }
th, td { padding: .38rem .7rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child, .words, .long { text-align: left; }
tbody th, td { vertical-align: top; }
.long { white-space: pre-line; overflow-wrap: anywhere; }
td.long { min-width: 14rem; }
thead th { border-bottom: 2px solid var(--line); color: var(--soft); font-weight: 600; }
tbody th { font-weight: 600; }
td.best { background: var(--best); font-weight: 700; }
.numbers { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .7rem; margin: 1rem 0; }
.numbers div { background: var(--card); border-radius: .6rem; padding: .75rem .9rem; }
.numbers b { display: block; font-size: 1.45rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.numbers span { color: var(--soft); font-size: .86rem; }
figure { margin: 1rem 0; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1rem; }
.figures figure { margin: 0; }
figure svg, figure img { display: block; width: 100%; max-width: 44rem; height: auto; border-radius: .4rem; }
@media (prefers-color-scheme: dark) { figure svg, figure img { filter: invert(.92) hue-rotate(180deg); } }
details { border-bottom: 1px solid var(--line); padding: .5rem 0; max-width: 56rem; }
summary { cursor: pointer; overflow-wrap: anywhere; }
details p { margin-left: 1.1rem; color: var(--soft); font-size: .92rem; }
pre { background: var(--card); padding: .8rem; border-radius: .5rem; overflow-x: auto; font-size: .85rem; }
.note { border-left: 4px solid var(--accent); background: var(--card); padding: .5rem .9rem; border-radius: .3rem; }
@media (max-width: 40rem) { tbody th { white-space: normal; min-width: 7.5rem; } th, td { padding: .34rem .45rem; } }
footer { color: var(--soft); font-size: .84rem; padding: 2.5rem 1rem 2rem; }
@media print { nav { display: none; } body { font-size: 11pt; } }
"""
