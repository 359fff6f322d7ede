// The pages of sources: their state is fetched again now and then, and a test keeps what was typed.

import { refresh, showAnswer } from "./fragments.js";

const EVERY_MS = 5000;
const STATES = ["#source-states"];

export function start() {
  setInterval(() => {
    if (!document.hidden && !document.querySelector("#source-states details[open]")) refresh(STATES).catch(() => {});
  }, EVERY_MS);
  document.addEventListener("submit", async (event) => {
    if (!event.submitter?.matches("[data-test]")) return;
    event.preventDefault();
    const button = event.submitter;
    button.setAttribute("aria-disabled", "true");
    try {
      const response = await fetch(button.formAction, { method: "POST", body: new FormData(event.target) });
      showAnswer(await response.text(), ["#source-answer"]);
    } finally {
      button.removeAttribute("aria-disabled");
    }
  });
}

/** Documents may have come: the numbers are looked at again at the next turn. */
export function onChange() {}
