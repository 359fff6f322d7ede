// Keyboard shortcuts. Off while typing; single letters can be turned off in the list of shortcuts.

const SETTING = "docmill-single-keys";
const SEQUENCE_MS = 1500;

const actions = new Map();

/** Let `key` (`u`, `+`, or a sequence such as `g d`) call `action` on this page. */
export function onKey(key, action) {
  actions.set(key, action);
}

function enabled() {
  return localStorage.getItem(SETTING) !== "off";
}

function isTyping(element) {
  return element.matches?.("input:not([type=checkbox]):not([readonly]), textarea:not([readonly]), select");
}

/** Listen for keys, and wire the list of shortcuts. */
export function start() {
  const dialog = document.querySelector("#shortcuts");
  const choice = document.querySelector("#single-keys");
  let prefix = "";
  let prefixAt = 0;

  choice.checked = enabled();
  choice.addEventListener("change", () => localStorage.setItem(SETTING, choice.checked ? "on" : "off"));
  document.querySelector("[data-open-shortcuts]").addEventListener("click", () => dialog.showModal());
  document.querySelector("[data-print]").addEventListener("click", () => window.print());
  onKey("?", () => dialog.showModal());

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || dialog.open) return;
    if (isTyping(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (!enabled() || (event.key === " " && event.target.matches("button, summary, input"))) return; // it presses them
    const inSequence = prefix && event.timeStamp - prefixAt < SEQUENCE_MS;
    const action = (inSequence && actions.get(`${prefix} ${event.key}`)) || actions.get(event.key);
    prefix = event.key;
    prefixAt = event.timeStamp;
    if (!action) return;
    event.preventDefault();
    action();
  });
}
