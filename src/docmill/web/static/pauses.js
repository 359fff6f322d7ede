// What is paused until somebody mends it: shown above every page while it lasts.

import { parse, update } from "./morph.js";

/** Whether a change is one of what is paused; if so, that is shown as it is now. */
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
