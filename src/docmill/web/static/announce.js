// Announces a text to screen readers.

export function announce(text) {
  document.querySelector("#announcements").textContent = text;
}
