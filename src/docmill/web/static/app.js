// The entry: loads the parts of every page, and the module of this page alone, so that a first visit fetches little.

import * as fragments from "./fragments.js";
import * as keys from "./keys.js";
import { listen } from "./live.js";
import * as pauses from "./pauses.js";
import * as pictures from "./pictures.js";
import { gettext } from "./texts.js";
import * as theme from "./theme.js";
import * as times from "./times.js";

const MODULES = { documents: "./documents.js", document: "./document.js", queue: "./queue.js", matches: "./matches.js", sources: "./sources.js" };
const WORDS = { live: gettext("Live"), lost: gettext("Reconnecting") };
const BANNER_MS = 5000; // where another server takes over, it is there before, and nobody has to be told

let banner = null;

function showConnection(state) {
  const mark = document.querySelector("#connection");
  mark.dataset.state = state;
  mark.querySelector("span").textContent = WORDS[state];
  const disconnected = document.querySelector("#disconnected");
  if (state === "live") {
    clearTimeout(banner);
    banner = null;
    disconnected.hidden = true;
  } else {
    banner ??= setTimeout(() => (disconnected.hidden = false), BANNER_MS);
  }
}

const main = document.querySelector("main");
const module = MODULES[main.dataset.page];

fragments.start();
pictures.start();
theme.start();
times.start();
keys.onKey("g d", () => location.assign("/"));
keys.onKey("g r", () => location.assign("/review"));
keys.onKey("g o", () => location.assign("/ops"));
keys.onKey("/", () => location.assign("/#search"));
keys.start();
if (module) {
  const page = await import(module);
  page.start();
  const onChange = (change) => pauses.onChange(change) || page.onChange(change);
  listen("/api/v1/events", main.dataset.after, { onChange, onState: showConnection });
}
