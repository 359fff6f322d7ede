// The documents page: live cards, news of other documents, stuck ones, and moving by keyboard.

import { announce } from "./announce.js";
import { refresh } from "./fragments.js";
import { onKey } from "./keys.js";
import { parse, update } from "./morph.js";
import { gettext, ngettext } from "./texts.js";
import * as uploads from "./uploads.js";

const GATHER_MS = 100;
const CLOCK_MS = 15000;
const STALE_MS = 10 * 60 * 1000;

const results = () => document.querySelector("#results");
const cards = () => [...document.querySelectorAll(".card")];
const cardOf = (id) => document.getElementById(`doc-${id}`);

const changed = new Set();
const arrived = new Set();
let gathering = null;

/** A document has changed: its card is fetched again, or its arrival is announced. */
export function onChange({ document_id: id, kind }) {
  if (cardOf(id)) {
    changed.add(id);
    gathering ??= setTimeout(refreshChanged, GATHER_MS);
  } else if (kind === "created") {
    arrived.add(id);
    showArrivals();
  }
}

async function refreshChanged() {
  gathering = null;
  const ids = [...changed];
  if (!ids.length) return; // Retry has fetched them before their time
  changed.clear();
  const query = new URLSearchParams(ids.map((id) => ["id", id]));
  const searched = new URLSearchParams(location.search).get("q");
  if (searched) query.set("q", searched);
  const response = await fetch(`/cards?${query}`);
  if (!response.ok) return;
  const present = [...parse(await response.text()).querySelectorAll(".card")];
  for (const fresh of present) showCard(fresh);
  const found = new Set(present.map((card) => card.id));
  for (const id of ids) if (!found.has(`doc-${id}`)) showGone(cardOf(id));
}

/** Leave the place of a deleted document, so that no card moves under the pointer. */
function showGone(card) {
  if (!card || card.inert) return;
  card.inert = true;
  card.classList.add("gone");
  card.querySelector(".pill").textContent = gettext("Deleted");
  announce(gettext("%(title)s: deleted", { title: card.querySelector(".card-title").textContent.trim() }));
}

/** Replace cards, but never by an older version. */
function showCard(fresh) {
  const old = document.getElementById(fresh.id);
  if (!old || Number(fresh.dataset.version) < Number(old.dataset.version)) return;
  const before = old.dataset.state;
  update(old, fresh);
  if (old.dataset.state !== before && old.dataset.state !== "processing") {
    announce(`${old.querySelector(".card-title").textContent.trim()}: ${old.querySelector(".pill").textContent}`);
  }
  showClocks();
}

function showArrivals() {
  const link = document.querySelector("#arrivals");
  if (!link) return;
  link.hidden = arrived.size === 0;
  link.textContent = ngettext("%(num)s new document", "%(num)s new documents", arrived.size);
  if (arrived.size) announce(link.textContent);
}

/** Show what was uploaded here, unless that would move a card under the pointer or away from the focus. */
async function showOwnUploads() {
  if (location.search || results().matches(":hover") || results().contains(document.activeElement)) return;
  await refresh(["#results"]);
}

/** Mark documents without progress by the page's own clock, since no event reports them. */
function showClocks() {
  const now = Date.now();
  for (const card of cards()) {
    const idle = now - Date.parse(card.dataset.progressAt);
    if (card.dataset.state === "processing" && !("waiting" in card.dataset) && idle > STALE_MS) {
      changed.add(card.id.slice("doc-".length));
      gathering ??= setTimeout(refreshChanged, GATHER_MS);
    }
    const minutes = card.querySelector("[data-minutes]");
    if (minutes) minutes.textContent = String(Math.max(0, Math.floor(idle / 60000)));
  }
}

function current() {
  return document.activeElement.closest?.(".card");
}

function move(step) {
  const all = cards();
  if (!all.length) return;
  const at = all.indexOf(current());
  const next = at < 0 ? 0 : Math.max(0, Math.min(all.length - 1, at + step));
  const link = all[next].querySelector(".card-title a");
  link.focus();
  all[next].scrollIntoView({ block: "nearest" });
}

/** Mark the document at hand for an action on several, or take the mark off. */
function mark() {
  const box = current()?.querySelector(".card-mark input");
  box?.click();
  if (box) announce(box.checked ? gettext("Marked") : gettext("Not marked"));
}

/** Show the list in the next density. */
function changeList() {
  const buttons = [...document.querySelectorAll(".list-choice button")];
  const at = buttons.findIndex((button) => button.getAttribute("aria-pressed") === "true");
  buttons[(at + 1) % buttons.length]?.click();
}

async function retry(form) {
  const card = form.closest(".card");
  const response = await fetch(form.action, { method: "POST", body: new FormData(form), redirect: "manual" });
  if (response.type !== "opaqueredirect") {
    announce(gettext("The document could not be processed again"));
    return;
  }
  changed.add(card.id.slice("doc-".length));
  await refreshChanged();
}

/** Take what a form has just done out of the address, so that it is not told again. */
function clearDone() {
  const address = new URL(location);
  for (const name of ["deleted", "sent", "refused"]) address.searchParams.delete(name);
  if (address.search !== location.search) history.replaceState(history.state, "", address);
}

/** Show the actions on several documents as soon as one is marked. */
function showBulk(event) {
  if (event.target.matches(".card-mark input")) document.querySelector(".bulk").open = true;
}

/** Wire this page. */
export function start() {
  clearDone();
  document.addEventListener("change", showBulk);
  const form = document.querySelector("#upload");
  uploads.start(form, document.querySelector("#uploads"), document.querySelector("#drop-zone"), showOwnUploads);
  document.addEventListener("submit", (event) => {
    if (!event.target.matches(".card form")) return;
    event.preventDefault();
    retry(event.target);
  });
  document.addEventListener("page-updated", () => {
    // Ids ascend, and the whole list begins with the newest: what is older than that is in it.
    const newest = location.search ? "" : (cards()[0]?.id.slice("doc-".length) ?? "");
    for (const id of [...arrived]) if (cardOf(id) || id < newest) arrived.delete(id);
    showArrivals();
  });
  onKey("/", () => document.querySelector("#search").focus());
  onKey("u", () => form.querySelector("input[type=file]").click());
  onKey("j", () => move(1));
  onKey("k", () => move(-1));
  onKey(" ", mark);
  onKey("v", changeList);
  onKey("r", () => current()?.querySelector("form")?.requestSubmit());
  setInterval(showClocks, CLOCK_MS);
}
