// The page that photographs documents: its camera, its pages, and the sending of what waits.

import * as camera from "./camera.js";
import * as outbox from "./outbox.js";
import { pdfOf } from "./photo-pdf.js";
import { PhotographedPages, newId } from "./photographed-pages.js";
import { CHANNEL, SYNC, sendAll, whoIsHere } from "./sending.js";
import { gettext, ngettext } from "./texts.js";
import { WaitingList } from "./waiting-list.js";

const RETRY_MS = 5000;
const LONGEST_WAIT_MS = 300_000;

const $ = (selector) => document.querySelector(selector);
const video = $("#camera video");

let owner = null; // of what is photographed: organisation and person
let timer = null;
let waitMs = RETRY_MS;

const pages = new PhotographedPages($("#pages"), { onChange: showSending, onRetake: askForAnother, onFull: tellFull });
const waitingList = new WaitingList($("#waiting"), { retry: sendAgain, discard: (item) => outbox.remove("documents", item.id) });

function tell(text) {
  $("#capture-note").hidden = !text;
  $("#capture-note").textContent = text;
}

/** What this device cannot keep is told, and not lost without a word. */
function tellFull() {
  tell(gettext("This browser cannot keep photographs: its storage is full, or this is a private window. Send what you have, or free some space."));
}

// Taking photographs

async function addFiles(input) {
  const files = [...input.files];
  input.value = "";
  for (const file of files) {
    try {
      await pages.add(await createImageBitmap(file, { imageOrientation: "from-image" }));
      tell("");
    } catch {
      tell(gettext("%(name)s is no picture that this browser can open. Upload the file as it is on the page Documents.", { name: file.name }));
    }
  }
}

async function shoot() {
  const shutter = $("#shutter");
  if (shutter.disabled) return;
  shutter.disabled = true;
  try {
    await pages.add(await camera.shoot(video));
    tell("");
  } catch {
    tell(gettext("The camera gave no picture. Try again, or use the camera app."));
  }
  shutter.disabled = false;
  shutter.focus();
}

function askForAnother(number) {
  tell(gettext("The next photograph takes the place of page %(number)s.", { number }));
  if (video.srcObject) $("#shutter").focus();
  else $("#camera-app").click();
}

async function startCamera() {
  try {
    await camera.start(video);
    showCamera();
    tell("");
  } catch {
    tell(gettext("There is no camera here, or this page may not use it. Allow it in the settings of the browser, or use the camera app."));
  }
}

function showCamera() {
  const isOn = Boolean(video.srcObject);
  $("#camera").hidden = !isOn;
  $("#shutter").hidden = !isOn;
  $("#start-camera").hidden = isOn || !camera.isPossible();
  $("#no-camera").hidden = camera.isPossible();
}

async function wireCamera() {
  $("#shutter").addEventListener("click", shoot);
  $("#start-camera").addEventListener("click", async () => {
    await startCamera();
    if (video.srcObject) $("#shutter").focus();
  });
  showCamera();
  let wasOn = await camera.isAllowed();
  if (wasOn) await startCamera();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      wasOn = Boolean(video.srcObject);
      camera.stop(video);
      showCamera();
    } else if (wasOn) {
      startCamera();
    }
  });
}

// Sending

function showSending() {
  const count = pages.pages.length;
  $("#finish").hidden = !count;
  $("#finish").textContent = pages.doubtful ? gettext("Send anyway") : ngettext("Send %(num)s page", "Send %(num)s pages", count);
}

function nameOf(moment) {
  const two = (value) => String(value).padStart(2, "0");
  const day = [moment.getFullYear(), two(moment.getMonth() + 1), two(moment.getDate())].join("-");
  const time = [moment.getHours(), moment.getMinutes(), moment.getSeconds()].map(two).join(".");
  return gettext("Photo %(moment)s.pdf", { moment: `${day} ${time}` });
}

/** Make a document of the pages, and put it among those that wait to be sent. */
async function finish() {
  const taken = pages.pages;
  if (!taken.length || !owner) return;
  const now = new Date();
  const item = { id: newId(), owner, name: nameOf(now), file: pdfOf(taken), pageCount: taken.length, at: now.getTime() };
  const limit = Number($("#capture").dataset.limitBytes);
  if (item.file.size > limit) {
    tell(gettext("All pages together are larger than the limit of %(size)s MB. Delete some, send the others, and take the rest as another document.", { size: Math.round(limit / 1e6) }));
    return;
  }
  const unsent = { upload: null, begun: 0, state: "waiting", reason: "", tries: 0, dueAt: 0 };
  try {
    await outbox.exchange(taken, { ...item, ...unsent });
  } catch {
    tellFull();
    return;
  }
  await pages.clear();
  const next = ["#shutter", "#start-camera", "#camera-app"].map($).find((element) => !element.hidden);
  next.focus();
  navigator.storage?.persist?.().catch(() => {});
  await deliver({ isUrgent: true });
}

async function sendAgain(item) {
  await outbox.put("documents", { ...item, state: "waiting", reason: "", dueAt: 0 });
  await deliver({ isUrgent: true });
}

/** Send what waits, and come back when something is to be tried again. */
async function deliver(options) {
  clearTimeout(timer);
  await waitingList.show(owner);
  askForBackgroundSync();
  try {
    const dueAt = await sendAll(options);
    waitMs = RETRY_MS;
    if (dueAt !== null) timer = setTimeout(findOwner, Math.max(0, dueAt - Date.now()) + 50);
  } catch {
    timer = setTimeout(findOwner, waitMs);
    waitMs = Math.min(LONGEST_WAIT_MS, 2 * waitMs);
  }
  await waitingList.show(owner);
}

/** Have the browser send the rest after this page is closed, where it can. */
async function askForBackgroundSync() {
  try {
    const registration = await navigator.serviceWorker?.getRegistration("/capture");
    await registration?.sync?.register(SYNC);
  } catch {
    // It is sent when the page is open.
  }
}

/** Find out for whom pages are photographed: who has signed in, else who was here last. Then send what waits. */
async function findOwner(options) {
  try {
    const who = await whoIsHere();
    $("#signed-out").hidden = Boolean(who);
    if (who) await outbox.put("facts", { name: "last", owner: who.owner, person: who.name });
  } catch {
    // Without a connection, it is who was here last.
  }
  const last = await outbox.get("facts", "last");
  if (last && last.owner !== owner) {
    owner = last.owner;
    await pages.open(owner);
  }
  $("#capture").hidden = !owner;
  $("#nobody").hidden = Boolean(owner);
  $("#capture-for").textContent = last?.person ? gettext("For %(person)s", { person: last.person }) : "";
  await deliver(options);
}

for (const input of document.querySelectorAll("#capture-files input[type=file]")) {
  input.addEventListener("change", () => addFiles(input));
}
$("#finish").addEventListener("click", finish);
window.addEventListener("online", () => findOwner({ isUrgent: true }));
document.addEventListener("visibilitychange", () => document.hidden || findOwner({ isUrgent: true }));
new BroadcastChannel(CHANNEL).addEventListener("message", ({ data }) => waitingList.onNews(data, owner));
// Without the worker, as in a page without https, the page opens with a connection only.
navigator.serviceWorker?.register($("#capture").dataset.worker, { type: "module", scope: "/capture" }).catch(() => {});
await Promise.all([wireCamera(), findOwner({ isUrgent: true })]);
