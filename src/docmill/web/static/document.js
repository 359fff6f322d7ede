// The document page: fields and boxes are linked, the page zooms, and changes are shown.

import { announce } from "./announce.js";
import * as drafts from "./drafts.js";
import { refresh, visit } from "./fragments.js";
import { onKey } from "./keys.js";
import * as liveChecks from "./livechecks.js";
import { startBar } from "./queue.js";
import * as readPlace from "./readplace.js";
import * as review from "./review.js";
import { gettext } from "./texts.js";

const GATHER_MS = 150;
const LARGEST_ZOOM = 3;
const ZOOM_STEP = 1.5; // at most, from one width of the page to the next

const $ = (selector) => document.querySelector(selector);
const ofPath = (selector, path) => $(`${selector}[data-path="${CSS.escape(path)}"]`);

let id = null;
let gathering = null;
let zoom = 0;
let areBoxesHidden = false;
let suggested = null;

/** Show the current state after this document has changed. */
export function onChange(change) {
  if (change.document_id === id && change.kind === "deleted") {
    announce(gettext("This document was deleted: it is in the bin"));
    return;
  }
  if (change.document_id !== id && !isShown(change.document_id)) return;
  gathering ??= setTimeout(async () => {
    gathering = null;
    const before = $(".pill").textContent;
    await drafts.flush();
    await refresh(["#document"]);
    if ($(".pill").textContent !== before) announce($(".pill").textContent);
  }, GATHER_MS);
}

/** True for a part of this document, and for one that is linked with it while the tab of matches is open. */
function isShown(other) {
  return $(`[data-part="${CSS.escape(other)}"], #panel a[href^="/docs/${CSS.escape(other)}"]`) !== null;
}

/** Mark a value and its box; `scrollTo` brings the other one into view. */
function select(path, scrollTo) {
  for (const marked of document.querySelectorAll(".selected")) marked.classList.remove("selected");
  const box = ofPath(".box", path);
  const place = ofPath("#panel ", path);
  box?.classList.add("selected");
  place?.classList.add("selected");
  if (box) {
    showName(box);
    roveTo(box);
  }
  if (scrollTo === "box" && box) scrollOnPage(box);
  if (scrollTo === "field" && place) {
    place.scrollIntoView({ block: "nearest" });
    (place.matches("a") ? place : place.querySelector("[name=value]"))?.focus({ preventScroll: true });
  }
}

/** Bring a box into view by scrolling its page alone: on a phone, the input that has the focus stays in sight. */
function scrollOnPage(box) {
  const canvas = $("#canvas");
  const [inner, outer] = [box.getBoundingClientRect(), canvas.getBoundingClientRect()];
  const by = (start, end, from, to) => (start < from ? start - from : end > to ? Math.min(end - to, start - from) : 0);
  canvas.scrollTop += by(inner.top, inner.bottom, outer.top, outer.bottom);
  canvas.scrollLeft += by(inner.left, inner.right, outer.left, outer.right);
}

function showName(box) {
  $(".box-name").textContent = box.querySelector("title").textContent;
}

/** The boxes of a page are one tab stop; arrows go from box to box. */
function roveTo(box) {
  for (const other of document.querySelectorAll(".box")) other.setAttribute("tabindex", other === box ? "0" : "-1");
}

function moveBetweenBoxes(event) {
  const box = event.target.closest?.(".box");
  if (!box) return;
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const all = [...document.querySelectorAll(".box")];
  const at = all.indexOf(box);
  const next = { Home: all[0], End: all.at(-1) }[event.key] ?? (step && all[at + step]);
  if (!step && !next) return;
  event.preventDefault();
  if (next) {
    roveTo(next);
    next.focus();
  }
}

/** A value on another page turns to that page first. */
async function showBoxOf(place) {
  const path = place.dataset.path;
  const pageNumber = place.dataset.page;
  if (pageNumber && pageNumber !== $("#viewer").dataset.page) {
    const tab = new URLSearchParams(location.search).get("tab");
    const query = new URLSearchParams({ page: pageNumber, ...(tab && { tab }) });
    await visit(`${location.pathname}?${query}`, ["#viewer", "#panel"], { replace: true });
  }
  select(path, "box");
}

/** The value of a table's cell gets its field below the table, and the focus unless the person has gone on elsewhere. */
async function openCell(link) {
  const path = link.dataset.path;
  const focused = document.activeElement;
  await visit(link.getAttribute("href"), ["#viewer", "#panel"], { replace: true });
  if (focused.isConnected && ![focused, document.body].includes(document.activeElement)) return;
  select(path, "box");
  ofPath(".field", path)?.querySelector("[name=value]").focus();
}

/** Show the place of a suggestion, and no other; null shows none. */
function showSuggested(chip) {
  suggested = chip?.dataset.suggestion ?? null;
  for (const box of document.querySelectorAll(".suggested")) {
    box.toggleAttribute("data-shown", box.dataset.suggestion === suggested);
  }
}

/** The suggestion whose place is shown, if it is still there. */
function suggestedChip() {
  return suggested && $(`.chip[data-suggestion="${CSS.escape(suggested)}"]`);
}

/** A suggestion on another page turns to that page first. */
async function openSuggestion(chip) {
  const key = chip.dataset.suggestion;
  const { place } = chip.dataset;
  if (place && place !== $("#viewer").dataset.page) {
    const query = new URLSearchParams({ page: place });
    await visit(`${location.pathname}?${query}`, ["#viewer", "#panel"], { replace: true });
  }
  const still = $(`.chip[data-suggestion="${CSS.escape(key)}"]`);
  if (!still) return; // somebody has accepted one meanwhile
  select(still.closest(".field").dataset.path);
  showSuggested(still);
  const box = $(".suggested[data-shown]");
  if (box) scrollOnPage(box);
}

function onPointer(event) {
  const chip = event.target.closest?.(".chip");
  showSuggested(chip ?? document.activeElement?.closest(".chip"));
}

function setZoom(level) {
  zoom = Math.max(0, Math.min(LARGEST_ZOOM, level));
  const sheet = $("#sheet");
  if (!sheet) return;
  sheet.dataset.zoom = String(zoom);
  sheet.querySelector("img")?.setAttribute("sizes", zoom ? `${sheet.clientWidth}px` : "760px");
  showZoom();
}

/** Zoom as far as the selected place fits, and bring it to the middle; from there, back. */
function zoomToBox() {
  const box = $(".box.selected");
  if (!box) return announce(gettext("Go to a value first"));
  if (zoom) return setZoom(0);
  const canvas = $("#canvas");
  do setZoom(zoom + 1);
  while (zoom < LARGEST_ZOOM && box.getBoundingClientRect().width * ZOOM_STEP < canvas.clientWidth);
  const [inner, outer] = [box.getBoundingClientRect(), canvas.getBoundingClientRect()];
  canvas.scrollTop += (inner.top + inner.bottom - outer.top - outer.bottom) / 2;
  canvas.scrollLeft += (inner.left + inner.right - outer.left - outer.right) / 2;
}

/** Show the width of the page as a share of that on a wide screen. */
function showZoom() {
  const sheet = $("#sheet");
  if (sheet) $("#zoom").textContent = `${Math.round((sheet.clientWidth / 760) * 100)} %`;
}

function toggleBoxes() {
  if (!$(".boxes")) return;
  areBoxesHidden = !areBoxesHidden;
  showBoxes();
}

function showBoxes() {
  $(".boxes")?.toggleAttribute("data-hidden", areBoxesHidden);
  $("[data-action=boxes]")?.setAttribute("aria-pressed", String(!areBoxesHidden));
}

const actions = {
  "zoom-in": () => setZoom(zoom + 1),
  "zoom-out": () => setZoom(zoom - 1),
  "zoom-fit": () => setZoom(0),
  boxes: toggleBoxes,
  "read-place": readPlace.toggle,
};

function onClick(event) {
  const action = event.target.closest("[data-action]")?.dataset.action;
  if (action) actions[action]();
  const link = event.target.closest(".box, #panel td a[data-path]");
  if (!link || event.metaKey || event.ctrlKey) return;
  event.preventDefault();
  if (link.matches(".box") && ofPath(".field", link.dataset.path)) select(link.dataset.path, "field");
  else openCell(link);
}

function onFocus(event) {
  const box = event.target.closest(".box");
  if (box) showName(box);
  const chip = event.target.closest(".chip");
  if (chip) return void openSuggestion(chip);
  showSuggested(null);
  const place = event.target.closest("#panel [data-path]");
  if (place && !place.classList.contains("selected")) showBoxOf(place);
}

/** Wire this page. */
export function start() {
  id = $("#document").dataset.id;
  document.addEventListener("click", onClick);
  document.addEventListener("focusin", onFocus);
  document.addEventListener("mouseover", onPointer);
  document.addEventListener("keydown", moveBetweenBoxes);
  showZoom();
  window.addEventListener("resize", showZoom);
  document.addEventListener("page-updated", () => {
    setZoom(zoom);
    showBoxes();
    const place = document.activeElement?.closest("#panel [data-path]");
    if (place) select(place.dataset.path);
    showSuggested(suggestedChip());
  });
  // Who comes back sees the page of before, without what they typed and what others did meanwhile.
  if (performance.getEntriesByType("navigation")[0]?.type === "back_forward") refresh(["#document"]);
  window.addEventListener("pageshow", (event) => event.persisted && refresh(["#document"]));
  review.start();
  drafts.start();
  liveChecks.start();
  readPlace.start();
  startBar();
  onKey("+", actions["zoom-in"]);
  onKey("=", actions["zoom-in"]);
  onKey("-", actions["zoom-out"]);
  onKey("0", actions["zoom-fit"]);
  onKey("z", zoomToBox);
  onKey("b", toggleBoxes);
  onKey("d", readPlace.toggle);
  onKey("[", () => $("a[rel=prev]")?.click());
  onKey("]", () => $("a[rel=next]")?.click());
  onKey("t", () => $("#type")?.focus());
  onKey("r", () => $("#retry")?.requestSubmit());
}
