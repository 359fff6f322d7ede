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

/** Change `old` into `fresh`; if the focused element disappears, focus goes to the nearest one that stays. */
export function update(old, fresh) {
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const around = focused ? ancestors(focused) : [];
  morph(old, fresh);
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

function morph(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  const wasShown = shownBy(old);
  const isTyped = wasShown !== undefined && old.type !== "hidden" && old.value !== wasShown;
  morphAttributes(old, fresh);
  morphChildren(old, fresh);
  if (!isTyped || (shownBy(old) !== wasShown && old !== document.activeElement)) morphValue(old, fresh);
}

/** The value of a control as the server sent it; undefined for other elements. */
function shownBy(control) {
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

function morphChildren(old, fresh) {
  const byId = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
  let at = old.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    const match = wanted.id ? byId.get(wanted.id) : nextLike(at, wanted);
    if (match && alike(match, wanted)) {
      if (match !== at) old.insertBefore(match, at);
      morph(match, wanted);
      at = match.nextSibling;
    } else {
      old.insertBefore(wanted, at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function nextLike(start, wanted) {
  let node = start;
  for (let step = 0; node && step < LOOKAHEAD; step += 1) {
    if (alike(node, wanted)) return node;
    node = node.nextSibling;
  }
  return null;
}

function alike(one, other) {
  return (
    one.nodeType === other.nodeType && one.nodeName === other.nodeName && (one.id ?? "") === (other.id ?? "")
  );
}
