// Links and forms marked with `data-update="#a #b"` fetch their page and change only those parts of this one.
// Without this script they are ordinary links and forms.

import { parse, update } from "./morph.js";

const TYPING_PAUSE_MS = 250;

let running = null;

/** Fetch the page at `url` and change the parts that `selectors` name. Later calls cancel earlier ones. */
export async function updateFrom(url, selectors) {
  running?.abort();
  running = new AbortController();
  const response = await fetch(url, { signal: running.signal });
  if (!response.ok) throw new Error(`${response.status} for ${url}`);
  show(await response.text(), selectors);
}

/** Change the parts that `selectors` name to what they are in a page. */
export function show(html, selectors) {
  const fresh = parse(html);
  for (const selector of selectors) {
    const old = document.querySelector(selector);
    const wanted = fresh.querySelector(selector);
    if (old && wanted) update(old, wanted);
  }
  document.dispatchEvent(new CustomEvent("page-updated"));
}

/** Like following a link to `url`, but only the parts named change. */
export async function visit(url, selectors, { replace = false } = {}) {
  try {
    await updateFrom(url, selectors);
    if (replace) history.replaceState({ selectors }, "", url);
    else history.pushState({ selectors }, "", url);
  } catch (error) {
    if (error.name !== "AbortError") location.assign(url);
  }
}

function selectorsOf(element) {
  return element.dataset.update.split(" ");
}

function addressOf(form) {
  const filled = [...new FormData(form)].filter(([, value]) => value !== "");
  const query = new URLSearchParams(filled).toString();
  return form.action.split("?")[0] + (query && `?${query}`);
}

function plainClick(event) {
  return event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
}

/** Take over what is marked on this page. */
export function start() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-update]");
    if (!link || !plainClick(event) || event.defaultPrevented) return;
    event.preventDefault();
    visit(link.getAttribute("href"), selectorsOf(link));
  });
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "get" || form.dataset.update === undefined) return;
    event.preventDefault();
    visit(addressOf(form), selectorsOf(form));
  });
  let pause;
  document.addEventListener("input", (event) => {
    const form = event.target.form;
    if (form?.dataset.update === undefined) return;
    clearTimeout(pause);
    pause = setTimeout(() => visit(addressOf(form), selectorsOf(form), { replace: true }), TYPING_PAUSE_MS);
  });
  window.addEventListener("popstate", () => location.reload());
}
