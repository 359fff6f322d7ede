// The documents that wait on this device to be sent, with what became of each.

import { announce } from "./announce.js";
import { make } from "./elements.js";
import * as outbox from "./outbox.js";
import { gettext, ngettext } from "./texts.js";

const ENDINGS = {
  accepted: gettext("Sent"),
  restored: gettext("Restored from the bin"),
  already_here: gettext("Already here"),
};

function statusOf(item) {
  if (item.state === "refused") return gettext("Not taken: %(reason)s", { reason: item.reason || gettext("the vault refused it") });
  if (!navigator.onLine) return gettext("Waits for a connection");
  return item.tries ? gettext("Not sent yet. It is tried again by itself.") : gettext("Waits");
}

export class WaitingList {
  /** section: with a heading and a list. actions: `retry` and `discard` of an item. */
  constructor(section, actions) {
    this.section = section;
    this.list = section.querySelector("ul");
    this.others = section.querySelector("#others");
    this.actions = actions;
    window.addEventListener("offline", () => this.show(this.owner));
  }

  /** Show the documents of this owner; of those of others, only how many there are. */
  async show(owner) {
    this.owner = owner;
    const items = (await outbox.all("documents")).sort((one, other) => one.at - other.at);
    const ours = items.filter((item) => item.owner === owner);
    const others = items.length - ours.length;
    const rows = new Map([...this.list.children].map((row) => [row.dataset.id, row]));
    for (const [id, row] of rows) {
      if (!row.dataset.sent && !ours.some((item) => item.id === id)) row.remove();
    }
    for (const item of ours) {
      const row = rows.get(item.id) ?? this.append(item);
      if (row.dataset.sent) continue; // its place on the device is just being freed
      if (!row.querySelector("progress").hidden && item.state === "waiting" && navigator.onLine) continue; // it is being sent
      row.querySelector("progress").hidden = true;
      row.querySelector(".waiting-status").textContent = statusOf(item);
      row.querySelector(".waiting-status").classList.toggle("problem", item.state === "refused");
      row.querySelector(".retry").hidden = item.state !== "refused" && !item.tries;
    }
    this.others.hidden = !others;
    this.others.textContent = ngettext(
      "%(num)s document of somebody else waits on this device. It is sent when they sign in here.",
      "%(num)s documents of other people wait on this device. They are sent when those people sign in here.",
      others,
    );
    this.section.hidden = !this.list.children.length && !others;
  }

  append(item) {
    const count = ngettext("%(num)s page", "%(num)s pages", item.pageCount);
    const button = (className, text, act) => {
      const element = make("button", { type: "button", className: `button small ${className}`, textContent: text });
      element.setAttribute("aria-label", `${text} ${item.name}`);
      element.addEventListener("click", act);
      return element;
    };
    const progress = make("progress", { max: 1, value: 0, hidden: true });
    progress.setAttribute("aria-label", gettext("Uploading %(name)s", { name: item.name }));
    const row = make(
      "li",
      {},
      make("span", { className: "name", textContent: `${item.name}, ${count}` }),
      progress,
      make("span", { className: "waiting-status" }),
      button("retry", gettext("Retry"), async () => this.actions.retry(await outbox.get("documents", item.id))),
      button("discard", gettext("Discard"), async () => {
        await this.actions.discard(item);
        announce(gettext("Discarded"));
        await this.show(this.owner);
      }),
    );
    row.dataset.id = item.id;
    this.list.append(row);
    return row;
  }

  /** Show what a page or the service worker tells of a document: how far it is, that it was sent, or that it failed. */
  async onNews({ id, share, sent }, owner) {
    const row = this.list.querySelector(`[data-id="${id}"]`);
    if (row && share !== undefined) {
      row.querySelector("progress").hidden = false;
      row.querySelector("progress").value = share;
      row.querySelector(".waiting-status").textContent = gettext("Sending, %(share)s", { share: `${Math.round(100 * share)} %` });
      return;
    }
    if (row && sent) {
      const word = ENDINGS[sent.status] ?? ENDINGS.accepted;
      const name = row.querySelector(".name");
      const link = make("a", { href: `/docs/${sent.document_id}`, textContent: gettext("Open") });
      link.setAttribute("aria-label", `${link.textContent} ${name.textContent}`);
      row.replaceChildren(name, make("span", { textContent: word }), link);
      row.dataset.sent = "yes";
      announce(`${name.textContent}: ${word}`);
    } else if (row) {
      row.querySelector("progress").hidden = true;
    }
    await this.show(owner);
  }
}
