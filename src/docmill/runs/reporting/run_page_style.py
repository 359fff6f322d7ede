"""The style of the page of a run: readable on a phone, in light and in dark."""

STYLE = """
:root { color-scheme: light dark; --back: #f6f7f9; --surface: #ffffff; --sunken: #eef1f4; --text: #17212b;
  --quiet: #5d6a78; --line: #d8dee6; --edge: #7d8896; --accent: #1d5a9e;
  --ok: #17663a; --ok-soft: #e1f3e8; --warn: #854a00; --warn-soft: #fdf0d5;
  --error: #a3231c; --error-soft: #fce7e5; --info: #1d5a9e; --info-soft: #e4eefa; }
@media (prefers-color-scheme: dark) { :root { --back: #10151b; --surface: #171e26; --sunken: #0c1116;
  --text: #e7ecf1; --quiet: #96a4b2; --line: #2c3742; --edge: #748291; --accent: #82b4f5;
  --ok: #72d19b; --ok-soft: #12301f; --warn: #eebb62; --warn-soft: #35260b;
  --error: #ff9d94; --error-soft: #3e1816; --info: #82b4f5; --info-soft: #1b2f47; } }
* { box-sizing: border-box; }
body { background: var(--back); color: var(--text); font: 15px/1.5 -apple-system, "Segoe UI", Roboto,
  "Helvetica Neue", Arial, "Liberation Sans", sans-serif; margin: 0 auto; max-width: 1100px;
  overflow-wrap: anywhere; padding: 24px 16px 48px; }
h1 { font-size: 22px; margin: 0 0 8px; } h2 { font-size: 16px; margin: 32px 0 8px; }
h3 { font-size: 15px; margin: 0; }
p { margin: 4px 0; } .quiet, dt { color: var(--quiet); font-size: 13px; }
.pill { background: var(--sunken); border-radius: 12px; display: inline-block; font-size: 12px;
  margin: 2px 0; padding: 2px 10px; }
.pill.ok { background: var(--ok-soft); color: var(--ok); }
.pill.warn { background: var(--warn-soft); color: var(--warn); }
.pill.error { background: var(--error-soft); color: var(--error); }
.tiles { display: grid; gap: 12px; grid-template-columns: repeat(auto-fit, minmax(120px, 1fr));
  list-style: none; margin: 16px 0; padding: 0; }
.tiles li { background: var(--surface); border: 1px solid var(--line); border-radius: 8px;
  border-top: 3px solid var(--edge); padding: 12px 16px; }
.tiles b { display: block; font-size: 26px; font-variant-numeric: tabular-nums; font-weight: 600;
  line-height: 1.2; }
.tiles .completed { border-top-color: var(--ok); } .tiles .needs_review { border-top-color: var(--info); }
.tiles .failed { border-top-color: var(--error); }
dl { display: grid; gap: 12px; grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); margin: 16px 0; }
dd { margin: 0; }
table { background: var(--surface); border: 1px solid var(--line); border-collapse: collapse;
  font-variant-numeric: tabular-nums; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: 6px 12px; text-align: left; vertical-align: top; }
thead th { overflow-wrap: normal; color: var(--quiet); font-size: 13px; font-weight: 500; }
tbody th { font-weight: 500; }
article { background: var(--surface); border: 1px solid var(--line); border-radius: 8px; display: flex;
  gap: 16px; margin: 12px 0; padding: 12px 16px; }
article > div:last-child { flex: 1; min-width: 0; }
.picture { border: 1px solid var(--line); border-radius: 6px; flex: none; height: 150px; overflow: hidden;
  width: 120px; }
.picture img { background: #ffffff; display: block; height: 100%; object-fit: cover; object-position: top;
  width: 100%; }
.picture.none { align-items: center; background: var(--sunken); color: var(--quiet); display: flex;
  font-size: 12px; justify-content: center; padding: 8px; text-align: center; }
.picture.none span { -webkit-box-orient: vertical; -webkit-line-clamp: 6; display: -webkit-box;
  overflow: hidden; }
details { margin: 8px 0 0; } summary { color: var(--accent); cursor: pointer; padding: 2px 0; }
summary:focus-visible { border-radius: 4px; outline: 2px solid var(--accent); outline-offset: 2px; }
pre { background: var(--sunken); border-radius: 6px; font: 12px/1.5 ui-monospace, "Cascadia Mono", Menlo,
  Consolas, "Liberation Mono", monospace; margin: 8px 0 0; padding: 12px; white-space: pre-wrap; }
.names { columns: 320px; margin: 8px 0; padding-left: 20px; } .names li { break-inside: avoid; }
@media (max-width: 560px) { article { display: block; } .picture { margin-bottom: 12px; }
  table { font-size: 13px; } th, td { padding: 6px 4px; } .tiles { grid-template-columns: 1fr 1fr; } }
@media print { article, .tiles li { break-inside: avoid; } }
"""
