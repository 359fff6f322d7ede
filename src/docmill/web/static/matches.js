// The page of all links between documents.

import { refresh } from "./fragments.js";

const GATHER_MS = 700; // while documents are matched, changes come in crowds

let gathering = null;

/** The list shows what was found and decided. */
export function onChange() {
  gathering ??= setTimeout(async () => {
    gathering = null;
    await refresh(["#matches-count", "#matches", "nav"]);
  }, GATHER_MS);
}

/** Nothing on this page is wired. */
export function start() {}
