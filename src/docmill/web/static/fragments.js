// Links and forms marked with `data-update="#a #b"` fetch their page and change only those parts of this one.
// Without this script they are ordinary links and forms.

import { parse, update } from "./morph.js";

const TYPING_PAUSE_MS = 250;

let running = null;
let visiting = null;
let refreshing = null;

/** Fetch the page at `url` and update the parts that `selectors` name. False if a later call cancelled this one. */
async function updateFrom(url, selectors) {
  running?.abort();
  running = new AbortController();
  try {
    const response = await fetch(url, { signal: running.signal });
    if (!response.ok) throw new Error(`${response.status} for ${url}`);
    show(await response.text(), selectors, { keepsAnswers: url === location.href });
    return true;
  } catch (error) {
    if (error.name === "AbortError") return false;
    throw error;
  }
}

/** Fetch this page again. It cancels no visit, and one that a visit cancels is made after that. */
export async function refresh(selectors) {
  const mine = {};
  refreshing = mine;
  do {
    await visiting;
    if (refreshing !== mine) return; // a later one does it
  } while (!(await updateFrom(location.href, selectors)));
}

/** Show the answer to a form, and nothing that was asked for before it. */
export function showAnswer(html, selectors) {
  if (!visiting) running?.abort();
  show(html, selectors);
}

/** Update the parts that `selectors` name, and the title of the tab, from the HTML of a page. See `update`. */
function show(html, selectors, { keepsAnswers = false } = {}) {
  const fresh = parse(html);
  const title = [...fresh.children].find((element) => element.localName === "title"); // pictures have titles, too
  if (title) document.title = title.textContent;
  for (const selector of selectors) {
    const old = document.querySelector(selector);
    const wanted = fresh.querySelector(selector);
    if (old && wanted) update(old, wanted, { keepsAnswers });
  }
  document.dispatchEvent(new CustomEvent("page-updated"));
}

/** Like following a link to `url`, but only the named parts change. */
export async function visit(url, selectors, options = {}) {
  const mine = go(url, selectors, options);
  visiting = mine;
  await mine;
  if (visiting === mine) visiting = null;
}

async function go(url, selectors, { replace = false }) {
  try {
    if (!(await updateFrom(url, selectors))) return;
    if (replace) history.replaceState({ selectors }, "", url);
    else history.pushState({ selectors }, "", url);
  } catch {
    location.assign(url);
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

/** Listen for marked links and forms. */
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
