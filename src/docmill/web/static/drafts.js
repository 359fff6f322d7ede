// What is typed into a field is kept on the server until it is saved or dropped, so that leaving the page loses nothing.

import { withToken } from "./posting.js";
import { gettext } from "./texts.js";

const TYPING_PAUSE_MS = 400;

const waiting = new Map(); // forms whose text is to be kept, each with its timer
let sending = Promise.resolve();

const base = () => document.querySelector("#document").dataset.base;

function keep(form) {
  clearTimeout(waiting.get(form));
  waiting.delete(form);
  const value = form.querySelector("[name=value]");
  if (!value) return sending;
  const typed = value.value;
  const seen = form.querySelector("[name=seen]").value;
  const body = withToken({ path: form.dataset.path, typed, seen });
  const keeping = fetch(`${base()}/draft`, { method: "POST", body, keepalive: true });
  sending = Promise.all([sending, keeping.then(show, () => show({ ok: false }))]);
  return sending;
}

function show({ ok }) {
  const note = document.querySelector("#draft-note");
  if (note) note.textContent = ok ? gettext("What you typed is kept") : gettext("What you typed cannot be kept now");
}

/** Keep at once what waits, and return when all of it has arrived. */
export function flush() {
  for (const form of [...waiting.keys()]) keep(form);
  return sending;
}

/** What was typed into this field is about to be saved or dropped: it is no draft any more. The answer has the others. */
export async function settle(form) {
  clearTimeout(waiting.get(form));
  waiting.delete(form);
  await flush();
}

/** Keep what is typed after a pause, and when the page is left. */
export function start() {
  document.addEventListener("input", ({ target }) => {
    const form = target.closest("#panel .field[data-path]");
    if (!form || target.name !== "value") return;
    clearTimeout(waiting.get(form));
    waiting.set(form, setTimeout(() => keep(form), TYPING_PAUSE_MS));
  });
  window.addEventListener("pagehide", flush);
  document.addEventListener("visibilitychange", () => document.hidden && flush());
}
