// The pages of the document that is being photographed: taken, judged, put in order, kept on this device.

import { announce } from "./announce.js";
import { make } from "./elements.js";
import * as outbox from "./outbox.js";
import { judge } from "./sharpness.js";
import { gettext } from "./texts.js";

const LONG_SIDE = 4096;
const QUALITY = 0.92;
const THUMBNAIL = 240;
const WARNINGS = {
  blurred: gettext("This page may be blurred."),
  dark: gettext("This page may be too dark."),
};

/** Random, as `crypto.randomUUID` gives it, which pages without https do not have. */
export function newId() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The photograph as it is kept: a JPEG, no longer than `LONG_SIDE`. */
async function developed(photo) {
  const scale = Math.min(1, LONG_SIDE / Math.max(photo.width, photo.height));
  const canvas = make("canvas", { width: Math.round(photo.width * scale), height: Math.round(photo.height * scale) });
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(photo, 0, 0, canvas.width, canvas.height);
  const jpeg = await new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", QUALITY));
  return { jpeg, width: canvas.width, height: canvas.height, verdict: judge(canvas) };
}

async function thumbnailOf(page) {
  const picture = await createImageBitmap(page.jpeg);
  const scale = THUMBNAIL / Math.max(page.width, page.height);
  const [width, height] = [page.width * scale, page.height * scale].map(Math.round);
  const isTurned = page.rotation % 180 !== 0;
  const canvas = make("canvas", { width: isTurned ? height : width, height: isTurned ? width : height });
  canvas.setAttribute("role", "img");
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.translate(canvas.width / 2, canvas.height / 2);
  context.rotate((page.rotation * Math.PI) / 180);
  context.drawImage(picture, -width / 2, -height / 2, width, height);
  picture.close();
  return canvas;
}

export class PhotographedPages {
  /**
   * list: the element. onChange: called when pages have changed. onRetake: called when a page is to be taken again.
   * onFull: called when this device cannot keep them.
   */
  constructor(list, { onChange, onRetake, onFull }) {
    this.list = list;
    this.onChange = onChange;
    this.onRetake = onRetake;
    this.onFull = onFull;
    this.owner = null;
    this.pages = [];
    this.replaced = null; // the page that the next photograph takes the place of
    this.thumbnails = new WeakMap();
    this.shown = 0;
  }

  get doubtful() {
    return this.pages.filter(({ verdict }) => verdict !== "good").length;
  }

  numberOf(page) {
    return this.pages.indexOf(page) + 1;
  }

  /** Show the pages that this owner has not sent yet. */
  async open(owner) {
    this.owner = owner;
    this.pages = (await outbox.all("pages")).filter((page) => page.owner === owner).sort((one, other) => one.place - other.place);
    await this.show();
  }

  /** Begin the next document: the pages of this one are kept elsewhere. */
  async clear() {
    this.pages = [];
    this.replaced = null;
    await this.show();
  }

  async add(photo) {
    const taken = await developed(photo);
    photo.close();
    const index = this.pages.indexOf(this.replaced);
    const old = this.pages[index] ?? { id: newId(), place: (this.pages.at(-1)?.place ?? 0) + 1 };
    const page = { id: old.id, place: old.place, owner: this.owner, rotation: 0, ...taken };
    if (index < 0) this.pages.push(page);
    else this.pages[index] = page;
    this.replaced = null;
    await this.keep(page);
    const title = gettext("Page %(number)s", { number: this.numberOf(page) });
    const verdict = WARNINGS[page.verdict] ?? gettext("It can be read well.");
    announce(`${title}. ${verdict}`);
  }

  async keep(...pages) {
    try {
      for (const page of pages) await outbox.put("pages", page);
    } catch {
      this.onFull();
    }
    await this.show();
  }

  retake(page) {
    this.replaced = page;
    this.onRetake(this.numberOf(page));
  }

  async turn(page) {
    page.rotation = (page.rotation + 90) % 360;
    this.thumbnails.delete(page);
    await this.keep(page);
  }

  async move(page, by) {
    const other = this.pages[this.pages.indexOf(page) + by];
    if (!other) return;
    [page.place, other.place] = [other.place, page.place];
    this.pages.sort((one, another) => one.place - another.place);
    await this.keep(page, other);
    announce(gettext("Page %(number)s", { number: this.numberOf(page) }));
  }

  async drop(page) {
    const index = this.pages.indexOf(page);
    this.pages.splice(index, 1);
    if (this.replaced === page) this.replaced = null;
    await outbox.remove("pages", page.id);
    await this.show();
    this.list.children[Math.min(index, this.pages.length - 1)]?.querySelector("button").focus();
    announce(gettext("Deleted"));
  }

  async accept(page) {
    page.verdict = "good";
    await this.keep(page);
  }

  /** Show the pages as they are now; the button that has the focus keeps it. */
  async show() {
    this.shown += 1;
    const turn = this.shown;
    for (const page of this.pages) {
      if (!this.thumbnails.has(page)) this.thumbnails.set(page, await thumbnailOf(page));
    }
    if (turn !== this.shown) return; // they have changed again
    const { activeElement } = document;
    const focused = this.list.contains(activeElement) && activeElement;
    const id = focused && focused.closest("li").dataset.id;
    this.list.replaceChildren(...this.pages.map((page, index) => this.row(page, index + 1)));
    if (focused) {
      const buttons = [...this.list.querySelectorAll(`[data-id="${id}"] button`)];
      (buttons.find((button) => button.textContent === focused.textContent) ?? buttons[0])?.focus();
    }
    this.onChange();
  }

  row(page, number) {
    const button = (text, act) => {
      const element = make("button", { type: "button", className: "button small", textContent: text });
      element.setAttribute("aria-label", gettext("%(action)s, page %(number)s", { action: text, number }));
      element.addEventListener("click", act);
      return element;
    };
    const warning = WARNINGS[page.verdict];
    const buttons = [
      button(gettext("Retake"), () => this.retake(page)),
      warning && button(gettext("Keep"), () => this.accept(page)),
      button(gettext("Rotate"), () => this.turn(page)),
      number > 1 && button(gettext("Earlier"), () => this.move(page, -1)),
      number < this.pages.length && button(gettext("Later"), () => this.move(page, 1)),
      button(gettext("Delete"), () => this.drop(page)),
    ];
    const title = gettext("Page %(number)s", { number });
    const thumbnail = this.thumbnails.get(page);
    thumbnail.setAttribute("aria-label", title);
    const texts = [make("p", { className: "page-title", textContent: title })];
    if (warning) texts.push(make("p", { className: "pill warn", textContent: warning }));
    const item = make("li", {}, thumbnail, make("div", {}, ...texts, make("div", { className: "page-buttons" }, ...buttons.filter(Boolean))));
    item.dataset.id = page.id;
    return item;
  }
}
