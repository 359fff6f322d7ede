// Uploads: a button, the whole page as a drop zone, and for every file its progress, cancel and retry.

import { announce } from "./announce.js";
import { gettext } from "./texts.js";

const AT_ONCE = 2;
const FEW = 3;
const CLOSES_AFTER_MS = 8000;
const OUTCOMES = {
  added: gettext("added"),
  known: gettext("already here"),
  restored: gettext("restored from the bin"),
  cancelled: gettext("cancelled"),
  failed: gettext("not uploaded"),
};

const ENDINGS = {
  accepted: [gettext("Added"), "added"],
  restored: [gettext("Restored from the bin"), "restored"],
  already_here: [gettext("Already here"), "known"],
};

const waiting = [];
let running = 0;
let closing = null;

/** Wire the upload form and the drop zone. `onFinished` is called when no upload is left. */
export function start(form, list, dropZone, onFinished) {
  wireHead(form.ownerDocument.querySelector("#uploads-head"), list);
  const input = form.querySelector("input[type=file]");
  const limit = Number(form.dataset.limitBytes);

  function add(files) {
    for (const file of files) {
      const item = new UploadItem(file, form.dataset.api, limit, form.querySelector("[name=form_token]")?.value);
      list.append(item.element);
      enqueue(item, onFinished);
    }
  }

  input.addEventListener("change", () => {
    add([...input.files]);
    input.value = "";
  });
  wireDropZone(dropZone, add);
}

function enqueue(item, onFinished) {
  item.onRetry = () => enqueue(item, onFinished);
  waiting.push(item);
  next(onFinished);
}

function next(onFinished) {
  while (running < AT_ONCE && waiting.length) {
    running += 1;
    waiting
      .shift()
      .send()
      .then(() => {
        running -= 1;
        if (!running && !waiting.length) onFinished();
        next(onFinished);
      });
  }
}

/** The sum of the rows, such as "30 added, 2 not uploaded"; before all have ended, how many have. */
function sumOf(list) {
  const outcomes = [...list.children].map((row) => row.dataset.outcome).filter(Boolean);
  if (outcomes.length < list.children.length) return gettext("%(count)s of %(all)s done", { count: outcomes.length, all: list.children.length });
  return Object.entries(OUTCOMES)
    .map(([key, words]) => [outcomes.filter((outcome) => outcome === key).length, words])
    .filter(([count]) => count)
    .map(([count, words]) => `${count} ${words}`)
    .join(", ");
}

/** Close the list when every file was added, but not under the pointer or the focus. */
function closeWhenAllIsWell(list) {
  clearTimeout(closing);
  const rows = [...list.children];
  if (!rows.length || rows.some((row) => row.dataset.outcome !== "added")) return;
  closing = setTimeout(() => {
    const tray = list.parentElement;
    if (tray.matches(":hover") || tray.contains(document.activeElement)) closeWhenAllIsWell(list);
    else list.replaceChildren();
  }, CLOSES_AFTER_MS);
}

/** The sum of several uploads, and one button for the rows that are done; what can be tried again stays. */
function wireHead(head, list) {
  const sum = head.querySelector("span");
  const button = head.querySelector("button");
  const done = () => [...list.children].filter((row) => "done" in row.dataset);
  const look = () => {
    head.hidden = list.children.length < 2;
    button.hidden = done().length <= FEW;
    const before = sum.textContent;
    sum.textContent = head.hidden ? "" : sumOf(list);
    const isOver = [...list.children].every((row) => row.dataset.outcome);
    if (sum.textContent !== before && isOver) announce(sum.textContent);
    closeWhenAllIsWell(list);
  };
  const attributeFilter = ["data-done", "data-outcome"];
  new MutationObserver(look).observe(list, { attributeFilter, childList: true, subtree: true });
  button.addEventListener("click", () => {
    for (const row of done()) row.remove();
    announce(gettext("Dismissed"));
    document.querySelector("#upload input[type=file]").focus();
  });
}

function wireDropZone(zone, add) {
  let depth = 0;
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");

  window.addEventListener("dragenter", (event) => {
    if (!hasFiles(event)) return;
    depth += 1;
    zone.hidden = false;
  });
  window.addEventListener("dragleave", () => {
    depth = Math.max(0, depth - 1);
    zone.hidden = depth === 0;
  });
  window.addEventListener("dragover", (event) => {
    if (hasFiles(event)) event.preventDefault();
  });
  window.addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth = 0;
    zone.hidden = true;
    add([...event.dataTransfer.files]);
  });
}

/** A name without marks of writing direction and the like, which could show `fdp.exe` as `exe.pdf`; the vault drops them. */
function visible(name) {
  return name.replaceAll(/[\p{Cc}\p{Cf}]/gu, "");
}

/** One file on its way, and its row in the list. */
class UploadItem {
  constructor(file, api, limit, formToken) {
    this.file = file;
    this.formToken = formToken;
    this.api = api;
    this.limit = limit;
    this.onRetry = () => {};
    this.cancelled = false;
    this.canRetry = false;
    this.element = document.createElement("li");
    this.shownName = visible(file.name);
    this.name = make("span", { className: "name", textContent: this.shownName });
    this.progress = make("progress", { max: 1, value: 0 });
    this.progress.setAttribute("aria-label", gettext("Uploading %(name)s", { name: this.shownName }));
    this.status = make("span", { textContent: gettext("Waiting") });
    this.button = make("button", { type: "button", className: "button small" });
    this.label(gettext("Cancel"));
    this.button.addEventListener("click", () => this.press());
    this.element.append(this.name, this.progress, this.status, this.button);
  }

  label(text) {
    this.button.textContent = text;
    this.button.setAttribute("aria-label", `${text} ${this.shownName}`);
  }

  /** Send the file; resolves whatever happens. */
  send() {
    if (this.cancelled) return Promise.resolve();
    if (this.file.size > this.limit) {
      this.fail(gettext("larger than the limit of %(size)s MB", { size: Math.round(this.limit / 1e6) }), { again: false });
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const request = new XMLHttpRequest();
      const body = new FormData();
      body.append("file", this.file);
      this.request = request;
      request.responseType = "json";
      request.upload.addEventListener("progress", (event) => this.show(event.loaded / event.total));
      request.addEventListener("load", () => this.answered(request.status, request.response));
      request.addEventListener("error", () => this.fail(gettext("no connection to the vault"), { again: true }));
      request.addEventListener("abort", () => this.end(gettext("Cancelled"), "cancelled"));
      request.addEventListener("loadend", resolve);
      request.open("POST", this.api);
      if (this.formToken) request.setRequestHeader("X-Form-Token", this.formToken);
      request.send(body);
    });
  }

  show(share) {
    this.progress.value = share;
    this.status.textContent = share < 1 ? `${Math.round(share * 100)} %` : gettext("Saving");
  }

  answered(status, answer) {
    const result = answer?.results?.[0];
    if (status >= 400 || !result) {
      this.fail(answer?.detail ?? gettext("the vault could not take it"), { again: status >= 500 });
      return;
    }
    const [word, outcome] = ENDINGS[result.status];
    this.end(word, outcome);
    const link = make("a", { href: `/docs/${result.document_id}`, textContent: gettext("Open") });
    link.setAttribute("aria-label", `${link.textContent} ${this.shownName}`);
    this.status.after(link);
  }

  fail(reason, { again }) {
    this.progress.hidden = true;
    this.status.textContent = gettext("Not uploaded: %(reason)s", { reason });
    this.status.className = "problem";
    this.canRetry = again;
    this.label(again ? gettext("Retry") : gettext("Dismiss"));
    if (!again) this.element.dataset.done = "";
    this.element.dataset.outcome = "failed";
    this.request = null;
    this.moveUp();
    announce(`${this.shownName}: ${this.status.textContent}`);
  }

  /** Put the row before those without a problem, where the list does not hide it. */
  moveUp() {
    const { activeElement } = document;
    const first = [...this.element.parentElement.children].find((row) => !row.querySelector(".problem"));
    if (first && first.compareDocumentPosition(this.element) & Node.DOCUMENT_POSITION_FOLLOWING) {
      first.before(this.element);
      if (this.element.contains(activeElement)) activeElement.focus(); // moving takes it away
    }
  }

  end(word, outcome) {
    this.progress.hidden = true;
    this.status.textContent = word;
    this.label(gettext("Dismiss"));
    this.element.dataset.done = "";
    this.element.dataset.outcome = outcome;
    this.request = null;
    announce(`${this.shownName}: ${word}`);
  }

  press() {
    if (this.canRetry) {
      this.canRetry = false;
      delete this.element.dataset.outcome;
      this.progress.hidden = false;
      this.progress.value = 0;
      this.status.className = "";
      this.status.textContent = gettext("Waiting");
      this.label(gettext("Cancel"));
      this.onRetry();
    } else if (this.request) {
      this.request.abort();
    } else {
      this.cancelled = true;
      this.element.remove();
    }
  }
}

function make(name, properties) {
  return Object.assign(document.createElement(name), properties);
}
