// The entry: loads the parts of every page, and the module of this page.

import * as documentPage from "./document.js";
import * as documentsPage from "./documents.js";
import * as fragments from "./fragments.js";
import * as keys from "./keys.js";
import { listen } from "./live.js";
import * as pauses from "./pauses.js";
import * as pictures from "./pictures.js";
import * as theme from "./theme.js";

const PAGES = { documents: documentsPage, document: documentPage };
const WORDS = { live: "Live", lost: "Reconnecting" };

function showConnection(state) {
  const mark = document.querySelector("#connection");
  mark.dataset.state = state;
  mark.querySelector("span").textContent = WORDS[state];
  document.querySelector("#disconnected").hidden = state === "live";
}

const main = document.querySelector("main");
const page = PAGES[main.dataset.page];

fragments.start();
pictures.start();
theme.start();
keys.onKey("g d", () => location.assign("/"));
keys.onKey("g o", () => location.assign("/ops"));
keys.start();
if (page) {
  page.start();
  const onChange = (change) => pauses.onChange(change) || page.onChange(change);
  listen("/api/v1/events", main.dataset.after, { onChange, onState: showConnection });
}
