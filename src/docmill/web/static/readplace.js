// A person draws a box on the page, and the text that was read there becomes the value of the field at hand.

import { announce } from "./announce.js";
import { withToken } from "./posting.js";
import { gettext } from "./texts.js";

const SMALLEST_PX = 4;
const SVG = "http://www.w3.org/2000/svg";

let isOn = false;
let corner = null;
let drawn = null;
let target = null; // the form of the field that had the focus last

const $ = (selector) => document.querySelector(selector);
const button = () => $("[data-action=read-place]");

/** Turn drawing on or off. */
export function toggle() {
  const sheet = $("#sheet");
  if (!sheet || !button()) return;
  isOn = !isOn;
  show();
  if (isOn) announce(field() ? gettext("Draw a box around the text") : gettext("Go to a value first, then draw a box around its text"));
  else stop();
}

/** Show whether drawing is on, and the box that is being drawn, which an update of the page has taken off. */
function show() {
  $("#sheet")?.toggleAttribute("data-drawing", isOn);
  button()?.setAttribute("aria-pressed", String(isOn));
  if (drawn && !drawn.isConnected) $("#sheet")?.append(drawn);
}

function field() {
  return target?.isConnected ? target : $("#panel .field.selected") ?? $("#panel .field[data-open]");
}

function stop() {
  corner = null;
  drawn?.remove();
  drawn = null;
}

/** The pointer's place as shares of the page. */
function placeOf(event) {
  const { left, top, width, height } = $("#sheet").getBoundingClientRect();
  const share = (value, size) => Math.min(1, Math.max(0, value / size));
  return [share(event.clientX - left, width), share(event.clientY - top, height)];
}

function boxTo([x, y]) {
  return [Math.min(corner[0], x), Math.min(corner[1], y), Math.max(corner[0], x), Math.max(corner[1], y)];
}

function begin(event) {
  if (!event.target.closest?.("#sheet[data-drawing]")) return;
  event.preventDefault();
  corner = placeOf(event);
  const layer = document.createElementNS(SVG, "svg");
  layer.setAttribute("class", "drawn");
  layer.setAttribute("viewBox", "0 0 1 1");
  layer.setAttribute("preserveAspectRatio", "none");
  layer.append(document.createElementNS(SVG, "rect"));
  drawn?.remove();
  drawn = layer;
  $("#sheet").append(layer);
}

function extend(event) {
  if (!corner) return;
  const [x0, y0, x1, y1] = boxTo(placeOf(event));
  const shape = { x: x0, y: y0, width: x1 - x0, height: y1 - y0 };
  for (const [name, value] of Object.entries(shape)) drawn.firstChild.setAttribute(name, value);
}

async function end(event) {
  if (!corner) return;
  const box = boxTo(placeOf(event));
  const sheet = $("#sheet");
  const isSmall = (box[2] - box[0]) * sheet.clientWidth < SMALLEST_PX || (box[3] - box[1]) * sheet.clientHeight < SMALLEST_PX;
  corner = null;
  if (isSmall) return stop();
  await readInto(field(), box);
  toggle();
}

async function readInto(form, box) {
  const page = $("#viewer").dataset.page;
  const body = withToken({ page, box: box.map((share) => share.toFixed(5)).join(",") });
  const response = await fetch(`${$("#document").dataset.base}/read`, { method: "POST", body });
  const text = response.ok ? (await response.json()).text : "";
  const value = form?.querySelector("[name=value]");
  if (!value) return announce(gettext("Go to a value first"));
  if (!text) return announce(gettext("No text was read there. Type the value."));
  value.value = value.matches("textarea") ? text : text.replaceAll("\n", " ");
  let place = form.querySelector("[name=box]");
  if (!place) {
    place = document.createElement("input");
    place.type = "hidden";
    place.name = "box";
    place.dataset.answer = ""; // a page that is fetched meanwhile does not have it
    form.append(place);
  }
  place.value = body.get("box");
  form.querySelector("[name=page]").value = page;
  value.focus();
  value.dispatchEvent(new Event("input", { bubbles: true }));
  announce(gettext("Read: %(text)s", { text }));
}

/** Listen for boxes that are drawn. */
export function start() {
  document.addEventListener("focusin", (event) => {
    const form = event.target.closest("#panel .field[data-path]");
    if (form) target = form;
  });
  document.addEventListener("page-updated", show);
  document.addEventListener("pointerdown", begin);
  document.addEventListener("pointermove", extend);
  document.addEventListener("pointerup", end);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && isOn) toggle();
  });
}
