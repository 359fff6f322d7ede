// Reviews are sent without a reload, and the next value to check gets the focus.

import { announce } from "./announce.js";
import * as drafts from "./drafts.js";
import { showAnswer } from "./fragments.js";
import { onKey } from "./keys.js";
import { isChanged, shownBy } from "./morph.js";
import { gettext } from "./texts.js";

const REVIEW =
  "#panel form[action*='/reviews'], #type-form, .duplicate, #approve, #force, #reject form, form.message[action$='/reviews']";
const TYPED = "#panel .field [name=value], #panel .field select";
const OF_ALL = "#confirm-all, #approve, #force"; // what is typed is saved before these

let running = null; // what was pressed last, and whether the answer was no refusal, once it is there

/** The fields, and the cells of the tables that have none below their table now, in reading order. */
function places() {
  const cells = new Set([...document.querySelectorAll("#panel td a[data-path]")].map((cell) => cell.dataset.path));
  return [...document.querySelectorAll("#panel .field[data-path], #panel td a[data-path]")].filter(
    (place) => place.matches("a") || !cells.has(place.dataset.path),
  );
}

/** The first value to check after `path`, or before it; at the end, the search starts again at the other end. */
function nextOpen(path, { backwards = false } = {}) {
  const all = backwards ? places().reverse() : places();
  const at = all.findIndex((place) => place.dataset.path === path);
  return [...all.slice(at + 1), ...all.slice(0, Math.max(0, at))].find((place) => place.dataset.open !== undefined);
}

function focusField(field) {
  if (field?.matches("a")) return void field.click(); // its field opens below the table
  (field?.querySelector(".chip") ?? field?.querySelector("[name=value]"))?.focus();
}

/** True if a field holds typed text that is not saved, also where it was refused and is shown again. */
function isTyped(form) {
  const kept = form.querySelector("[name=seen]")?.value ?? "";
  return form.querySelector("[name=value]").value.trim() !== kept.trim();
}

/** Put back what was typed while an answer was on its way, which does not know of it. */
function retype(control, value) {
  if (!control.isConnected || control.value === value) return;
  control.value = value;
  control.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Say at the form that the vault could not be reached; what is typed stays. False: nothing was taken. */
function sayUnsent(form) {
  const said = document.createElement("p");
  said.className = "refusal unsent";
  said.dataset.answer = ""; // a page that is fetched when the vault is back does not have it
  said.textContent = gettext("Not saved: no connection to the vault. Try again when it is back.");
  form.append(said);
  announce(said.textContent);
  return false;
}

/** Send the form and show the result. False if it was refused. */
async function send(form, button) {
  const path = form.dataset.path;
  const body = new URLSearchParams(new FormData(form, button));
  const isUndone = body.get("action") === "undo";
  const address = form.getAttribute("action"); // the property is its buttons, which are called so
  const before = new Map([...document.querySelectorAll(TYPED)].map((control) => [control, control.value]));
  if (path !== undefined) await drafts.settle(form);
  const response = await fetch(address, { method: "POST", body }).catch(() => null);
  form.querySelector(".unsent")?.remove();
  if (!response) return sayUnsent(form);
  if (response.ok && form.matches("#approve, #force[action$='/approve'], #reject form")) {
    location.assign(response.url); // the next document
    return true;
  }
  if (response.status === 401) return void location.reload(); // the session has ended, and the page leads to the sign-in
  if (![200, 409, 422].includes(response.status)) throw new Error(`${response.status} for ${address}`); // no page of the document
  const answer = await response.text();
  const since = [...before.entries()]
    .filter(([control, value]) => control.value !== value && isChanged(control)) // by the person, and not by an update
    .map(([control]) => [control, control.value]);
  for (const control of form.querySelectorAll(TYPED)) control.value = shownBy(control); // the answer has what was kept, or refused
  showAnswer(answer, ["#document"]);
  for (const [control, value] of since) retype(control, value);
  if (!response.ok) {
    document.querySelector("#panel [role=alert]")?.scrollIntoView({ block: "nearest" });
    const marked = document.querySelector("#panel .field [autofocus]");
    if (marked?.value === "") focusField(marked.closest(".field"));
    else marked?.focus();
    announce(document.querySelector("#panel [role=alert], #open-question p")?.textContent ?? "");
    return false;
  }
  const isTyping = since.some(([control]) => control === document.activeElement);
  if (path !== undefined && !isUndone && !isTyping) {
    const open = nextOpen(path);
    const cell = document.querySelector(`#panel td a[data-path="${CSS.escape(path)}"]`);
    if (open) focusField(open);
    else (cell ?? document.querySelector("#approve button"))?.focus({ preventScroll: true });
  }
  announce(document.querySelector(form.closest("#panel") ? ".to-check p" : ".pill")?.textContent ?? "");
  return true;
}

/** What a person looks at who presses a button of a form: the result of which ingestion, and the value, if it is of one. */
function seenBy(form) {
  return [...form.querySelectorAll("[name=ingestion_id], [name=seen]")].map((input) => input.value).join("\n");
}

function refuseToSend() {
  announce(gettext("Changed meanwhile")); // and nobody has looked at what is there now
  return false;
}

/** Send a form; one that is pressed while another is on its way waits for it, unless that is refused. */
function onSubmit(event) {
  const { target: form, submitter } = event;
  if (!form.matches(REVIEW)) return;
  event.preventDefault();
  const pressed = submitter?.value; // a button that shows something else by then was not pressed
  if (running?.form === form && running.submitter === submitter) return; // pressed twice
  const seen = seenBy(form);
  const before = running?.isTaken;
  const mine = { form, submitter };
  mine.isTaken = (async () => {
    if (before && !(await before)) return false;
    const isThere = form.isConnected && (submitter?.isConnected ?? true) && submitter?.value === pressed;
    return isThere && seenBy(form) === seen ? sendAll(form, submitter) : refuseToSend();
  })();
  running = mine;
  mine.isTaken.finally(() => {
    if (running === mine) running = null;
  });
}

/** Send a form and, before all values are confirmed, those that are typed. False if one was refused. */
async function sendAll(form, submitter) {
  let current = form;
  const seen = seenBy(form);
  try {
    if (form.matches(OF_ALL)) {
      // A person confirms what they see: what is typed is saved first, and nothing is confirmed if it is refused.
      for (const field of [...document.querySelectorAll("#panel .field")].filter(isTyped)) {
        current = field;
        if (!field.reportValidity()) return false; // no field was chosen for the value
        if (!(await send(field, field.querySelector(".say")))) return false;
      }
      if (seenBy(form) !== seen) return refuseToSend();
      for (const input of form.querySelectorAll("[name=refused], [name=typed]")) input.remove();
      current = form;
    }
    return await send(form, submitter);
  } catch {
    HTMLFormElement.prototype.submit.call(current); // as without this script; the browser says what is wrong
    return false;
  }
}

/**
 * Accept a suggestion of the field that has the focus. number: from 1.
 *
 * Where no field has it, that of the first with suggestions gets the focus, so that people see what they accept.
 */
function acceptSuggestion(number) {
  const field = document.activeElement?.closest(".field") ?? document.querySelector(".field.selected");
  if (field) field.querySelectorAll(".chip")[number - 1]?.click();
  else document.querySelector("#panel .field:has(.chip)")?.querySelectorAll(".chip")[number - 1]?.focus();
}

/** Arrows lead from an empty value to its suggestions, between them, and back. */
function moveToSuggestion(event) {
  const field = event.target.closest?.("#panel .field");
  const chips = [...(field?.querySelectorAll(".chip") ?? [])];
  const at = chips.indexOf(event.target);
  const input = field?.querySelector("[name=value]");
  const isEmpty = event.target === input && input.value === "";
  if (!chips.length || (at < 0 && !(isEmpty && event.key === "ArrowDown"))) return;
  const next = {
    ArrowDown: chips[0],
    ArrowUp: input,
    ArrowRight: chips[at + 1] ?? chips[at],
    ArrowLeft: chips[at - 1] ?? chips[at],
  }[event.key];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

/** Ctrl+Z takes back the last review, Ctrl+Shift+Z repeats it; in a text that is not saved they are the browser's. */
function undoOrRedo(event) {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== "z") return;
  const isText = event.target.matches("input:not([type=checkbox]), textarea");
  const field = event.target.closest?.("#panel .field[data-path]");
  if (isText && !(field && !isTyped(field))) return;
  event.preventDefault();
  document.querySelector(event.shiftKey ? "#redo-last" : "#undo-last")?.requestSubmit();
}

function onKeyDown(event) {
  moveToSuggestion(event);
  undoOrRedo(event);
  if (event.key !== "Enter" || event.defaultPrevented || event.isComposing) return;
  if (event.ctrlKey || event.metaKey) {
    const all = event.target.closest("#force, #reject form") ?? document.querySelector("#approve, #confirm-all");
    if (!all) return;
    event.preventDefault();
    all.requestSubmit();
  } else if (event.shiftKey && event.target.closest("#panel .field")) {
    event.preventDefault();
    focusField(nextOpen(event.target.closest(".field").dataset.path, { backwards: true }));
  } else if (event.altKey && event.target.matches("#panel .field textarea")) {
    event.preventDefault();
    const { selectionStart, selectionEnd } = event.target;
    event.target.setRangeText("\n", selectionStart, selectionEnd, "end");
    event.target.dispatchEvent(new Event("input", { bubbles: true }));
  } else if (event.target.matches("#type")) {
    event.preventDefault();
    event.target.form.requestSubmit();
  } else if (event.target.matches("#panel .field textarea, #panel .field select")) {
    event.preventDefault();
    event.target.form.requestSubmit(event.target.form.querySelector(".say"));
  }
}

/** Take over the forms of the panel, and those above it. */
export function start() {
  document.addEventListener("submit", onSubmit);
  document.addEventListener("keydown", onKeyDown);
  for (const number of [1, 2, 3]) onKey(String(number), () => acceptSuggestion(number));
}
