// The review queue: its list, and the bar below a document that is reviewed.

import { refresh } from "./fragments.js";
import { onKey } from "./keys.js";
import { withToken } from "./posting.js";

const GATHER_MS = 300;
const SIGN_OF_LIFE_MS = 30000;

const $ = (selector) => document.querySelector(selector);

let gathering = null;

/** The list shows what has changed. */
export function onChange() {
  gathering ??= setTimeout(async () => {
    gathering = null;
    await refresh(["#queue", "nav"]);
  }, GATHER_MS);
}

function fetchNextPicture() {
  const address = $("#review-bar").dataset.nextPicture;
  if (!address) return;
  const shown = $("#sheet img");
  const picture = new Image();
  picture.sizes = shown?.sizes ?? "760px";
  picture.srcset = `${address}&width=1000 1000w, ${address}&width=2000 2000w`;
}

/** Tell the server that a person is here, so that nobody else is led to this document. */
async function showLife(base) {
  if (document.hidden) return;
  try {
    const response = await fetch(`${base}/lock`, { method: "POST", body: withToken() });
    if (!response.ok) return;
    const { is_mine: isMine, seen_at: seenAt } = await response.json();
    if (seenAt) $("#review-bar").dataset.seenAt = seenAt;
    if (isMine === "locked" in $("#review-bar").dataset) await refresh(["#document"]);
  } catch {
    // The banner tells that there is no connection; the next sign comes soon.
  }
}

/** Let go of the document, unless this person has shown life in another page since, or has loaded this one again. */
function letGo(base) {
  const { seenAt } = $("#review-bar").dataset;
  if (seenAt) navigator.sendBeacon(`${base}/release`, withToken({ seen_at: seenAt }));
}

function openRejection() {
  const rejection = $("#reject");
  if (!rejection) return;
  rejection.open = true;
  $("#reject-reason").focus();
}

/** Wire the list of documents. */
export function start() {
  onKey("Enter", () => $("#start-review")?.click());
}

/** Wire the bar below a document, if it is reviewed. */
export function startBar() {
  const { base } = $("#document").dataset;
  if (!$("#review-bar")) return;
  if (document.readyState === "complete") fetchNextPicture();
  else window.addEventListener("load", fetchNextPicture);
  setInterval(() => showLife(base), SIGN_OF_LIFE_MS);
  document.addEventListener("visibilitychange", () => showLife(base));
  window.addEventListener("pageshow", (event) => event.persisted && showLife(base));
  window.addEventListener("pagehide", () => letGo(base));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.closest?.("#reject")) {
      $("#reject").open = false;
      $("#reject summary").focus();
    }
  });
  onKey("j", () => $("#skip")?.click());
  onKey("k", () => $("#previous")?.click());
  onKey("x", openRejection);
}
