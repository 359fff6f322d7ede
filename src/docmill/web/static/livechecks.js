// While a value is typed, the checks that it would break are shown below its field. The server makes them; nothing is stored.

import { parse } from "./morph.js";
import { withToken } from "./posting.js";

const TYPING_PAUSE_MS = 350;

let pause = null;
let asking = null;

const typed = () =>
  [...document.querySelectorAll("#panel .field[data-path]")].filter((form) => {
    const value = form.querySelector("[name=value]");
    return value && value.value.trim() !== form.querySelector("[name=seen]")?.value.trim();
  });

function clear() {
  for (const shown of document.querySelectorAll(".live-checks")) shown.remove();
}

async function ask(form) {
  asking?.abort();
  asking = new AbortController();
  const fields = typed();
  if (!fields.includes(form)) return void clear();
  const body = withToken();
  for (const field of fields) {
    body.append("path", field.dataset.path);
    body.append("typed", field.querySelector("[name=value]").value);
  }
  try {
    const address = `${document.querySelector("#document").dataset.base}/reviews/check`;
    const response = await fetch(address, { method: "POST", body, signal: asking.signal });
    if (!response.ok) return;
    const fragment = parse(await response.text());
    clear();
    const place = document.createElement("div");
    place.className = "live-checks";
    place.dataset.answer = "";
    place.setAttribute("role", "status");
    place.append(fragment);
    form.append(place);
  } catch (error) {
    if (error.name !== "AbortError") clear();
  }
}

/** Ask for the checks after each pause in typing. */
export function start() {
  document.addEventListener("input", ({ target }) => {
    const form = target.closest("#panel .field[data-path]");
    if (!form || target.name !== "value") return;
    clearTimeout(pause);
    pause = setTimeout(() => ask(form), TYPING_PAUSE_MS);
  });
  document.addEventListener("submit", () => {
    clearTimeout(pause);
    asking?.abort();
    clear();
  });
}
