// Makes one piece of the page look like another while keeping the nodes that stay, and with them the focus, the
// caret and half-typed values.

const LOOKAHEAD = 8;
const FOCUSABLE = "a, button, input:not([type=hidden]), textarea, select";

/** Parse HTML into a fragment. */
export function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

/**
 * Change `old` into `fresh`; if the focused element disappears, focus goes to the nearest one that stays.
 *
 * keepsAnswers: leave elements marked with `data-answer` as they are. They answer what this person did: a refusal, a
 * question. A page that is fetched because something changed elsewhere does not have them.
 */
export function update(old, fresh, { keepsAnswers = false } = {}) {
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const around = focused ? ancestors(focused) : [];
  morph(old, fresh, keepsAnswers ? (node) => node.dataset?.answer !== undefined : () => false);
  if (!focused || focused.isConnected) return;
  for (const element of around.filter((each) => each.isConnected)) {
    for (const next of [element, ...element.querySelectorAll(FOCUSABLE)]) {
      next.focus({ preventScroll: true }); // a hidden one does not take it
      if (next === document.activeElement) return;
    }
  }
}

function ancestors(element) {
  const parent = element.parentElement;
  return parent ? [parent, ...ancestors(parent)] : [];
}

/** isKept: which nodes are neither changed nor removed. */
function morph(old, fresh, isKept) {
  if (isKept(old)) return;
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  if (old.type === "hidden" && old.name === "seen" && isFilledIn(old.form)) return; // what was typed is typed against it
  const wasShown = shownBy(old);
  const isTyped = isChanged(old);
  const chosen = old.nodeName === "SELECT" ? old.value : undefined;
  const isUndecided = chosen !== undefined && ![...fresh.options].some((option) => option.defaultSelected);
  const isChosen = isUndecided && (isTyped || isFilledIn(old.form));
  morphAttributes(old, fresh);
  morphChildren(old, fresh, isKept);
  if (!isChosen && (!isTyped || (shownBy(old) !== wasShown && old !== document.activeElement))) morphValue(old, fresh);
  else if (chosen !== undefined) old.value = chosen; // its option may be another node now; nothing is chosen if it is gone
}

/** True if a person changed a control. */
export function isChanged(control) {
  const shown = shownBy(control);
  return shown !== undefined && control.type !== "hidden" && control.value !== shown;
}

/** True if a person has begun to fill in a form. */
function isFilledIn(form) {
  return [...(form?.elements ?? [])].some(isChanged);
}

/** The value of a control as the server sent it; undefined for other elements. */
export function shownBy(control) {
  if (control.nodeName !== "SELECT") return control.defaultValue;
  return ([...control.options].find((option) => option.defaultSelected) ?? control.options[0])?.value;
}

function morphAttributes(old, fresh) {
  for (const { name } of [...old.attributes]) {
    const isOpened = name === "open" && old.nodeName === "DETAILS"; // what a person opened stays open
    if (!fresh.hasAttribute(name) && !isOpened) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

/** Update the value of a control; not called for one in which a person types. */
function morphValue(old, fresh) {
  if (old.type === "file") return;
  if (old.nodeName === "INPUT") {
    old.value = fresh.value;
    old.checked = fresh.checked;
  } else if (old.nodeName === "SELECT" || old.nodeName === "TEXTAREA") {
    old.value = fresh.value;
  }
}

function morphChildren(old, fresh, isKept) {
  const byId = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
  let at = old.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    while (at && isKept(at) && (!at.id || at.id !== wanted.id)) at = at.nextSibling; // it stays where it is
    const match = wanted.id ? byId.get(wanted.id) : nextLike(at, wanted, isKept);
    if (match && alike(match, wanted)) {
      if (match !== at) old.insertBefore(match, at);
      morph(match, wanted, isKept);
      at = match.nextSibling;
    } else {
      old.insertBefore(wanted, at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    if (!isKept(at)) at.remove();
    at = next;
  }
}

function nextLike(start, wanted, isKept) {
  let node = start;
  for (let step = 0; node && step < LOOKAHEAD; step += 1) {
    if (!isKept(node) && alike(node, wanted)) return node;
    node = node.nextSibling;
  }
  return null;
}

function alike(one, other) {
  return (
    one.nodeType === other.nodeType && one.nodeName === other.nodeName && (one.id ?? "") === (other.id ?? "")
  );
}
