// The pauses: shown above every page while they last.

import { parse, update } from "./morph.js";

/** Show the current pauses if the change is about one; true if it is. */
export function onChange({ kind }) {
  if (kind !== "paused" && kind !== "resumed") return false;
  show();
  return true;
}

async function show() {
  const response = await fetch("/pauses");
  if (!response.ok) return;
  update(document.querySelector("#pauses"), parse(await response.text()).querySelector("#pauses"));
}
