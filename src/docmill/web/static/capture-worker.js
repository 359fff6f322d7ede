// The service worker of the page that photographs documents: opens it without a connection, and sends what waits.
// Of the vault it keeps that page and its static files, and no document.

import { SYNC, sendAll } from "./sending.js";

const PREFIX = "docmill-capture-";
const ANSWER_MS = 5000;
const ADDRESS = /(?:href|src|data-texts)="(\/(?:static|texts)\/[^"]+)"/g;
const IMPORT = /(?:from|import)\s+"\.\/([\w-]+\.js)"/g;

/** The static files that a page names, and the modules that those import. */
async function filesOf(html) {
  const files = new Set([...html.matchAll(ADDRESS)].map(([, address]) => address));
  for (const file of files) {
    if (!file.endsWith(".js")) continue;
    const text = await (await fetch(file)).text();
    for (const [, name] of text.matchAll(IMPORT)) files.add(file.replace(/[^/]+$/, name));
  }
  return [...files];
}

/** Keep the page without a person, and what it needs. */
async function keep(cacheName, shell) {
  const response = await fetch(shell, { credentials: "omit", cache: "no-store" });
  if (!response.ok) throw new Error(`the page answers ${response.status}`);
  const cache = await caches.open(cacheName);
  await cache.addAll(await filesOf(await response.clone().text()));
  await cache.put(shell, response);
}

async function forgetOthers(cacheName) {
  for (const name of await caches.keys()) {
    if (name.startsWith(PREFIX) && name !== cacheName) await caches.delete(name);
  }
}

async function open(request, shell) {
  try {
    return await fetch(request, { signal: AbortSignal.timeout(ANSWER_MS) });
  } catch {
    return (await caches.match(shell, { ignoreVary: true })) ?? Response.error();
  }
}

async function find(request) {
  return (await caches.match(request, { ignoreVary: true })) ?? fetch(request);
}

async function sendRest() {
  if ((await sendAll({ isUrgent: true })) !== null) throw new Error("some documents are not sent yet"); // the browser tries again
}

/** Answer the events of the worker. version: of the static files. shell: the address of the page without a person. */
export function serve({ version, shell }) {
  const cacheName = `${PREFIX}${version}`;
  self.addEventListener("install", (event) => event.waitUntil(keep(cacheName, shell).then(() => self.skipWaiting())));
  self.addEventListener("activate", (event) => event.waitUntil(forgetOthers(cacheName).then(() => self.clients.claim())));
  self.addEventListener("sync", (event) => event.tag === SYNC && event.waitUntil(sendRest()));
  self.addEventListener("fetch", (event) => {
    const { request } = event;
    const { origin, pathname } = new URL(request.url);
    if (request.method !== "GET" || origin !== self.location.origin) return;
    if (request.mode === "navigate" && pathname === "/capture") event.respondWith(open(request, shell));
    else if (/^\/(static|texts)\//.test(pathname)) event.respondWith(find(request));
  });
}
