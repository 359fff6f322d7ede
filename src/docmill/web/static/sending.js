// Sends the documents that wait, by tus 1.0.0; in a page and in the service worker. Texts are left to the page.
//
// A document is sent for the person and organisation it was photographed for, and for nobody else. Its begin has an
// idempotency key and its bytes have places, so that whatever is repeated after a broken connection counts once.

import * as outbox from "./outbox.js";

export const CHANNEL = "docmill-capture";
export const SYNC = "docmill-capture";

const API = "/api/v1/uploads";
const SLICE_BYTES = 256 * 1024;
const ANSWER_MS = 60_000;
const FIRST_WAIT_MS = 2000;
const LONGEST_WAIT_MS = 300_000;
const BUSY_MS = 5000; // another page sends; it may be closed before it is done

const channel = new BroadcastChannel(CHANNEL);

/** The vault refused; `isFinal` means that it always will. */
class Refusal extends Error {
  constructor(status, detail, retryAfterMs) {
    super(detail);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.isFinal = status >= 400 && status < 500 && ![401, 403, 404, 408, 409, 412, 429].includes(status);
  }
}

/** Who is signed in: `{owner, name, form_token}`; null for nobody who may upload. Fails without a connection. */
export async function whoIsHere() {
  const response = await fetch("/capture/session", { headers: { accept: "application/json" }, signal: AbortSignal.timeout(ANSWER_MS) });
  if (response.status === 401 || response.status === 403) return null;
  if (!response.ok) throw new Refusal(response.status, "");
  return response.json();
}

async function ask(method, address, who, headers = {}, body = undefined) {
  const response = await fetch(address, {
    method,
    body,
    headers: { "Tus-Resumable": "1.0.0", ...(who.form_token && { "X-Form-Token": who.form_token }), ...headers },
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  if (!response.ok) {
    const problem = method === "HEAD" ? {} : await response.json().catch(() => ({}));
    throw new Refusal(response.status, problem.detail ?? "", 1000 * Number(response.headers.get("retry-after") ?? 0));
  }
  return response;
}

function inBase64(text) {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}

/** Keep what became of a document, unless it was discarded meanwhile. */
async function note(item) {
  if (await outbox.get("documents", item.id)) await outbox.put("documents", item);
}

async function begin(item, who) {
  const response = await ask("POST", API, who, {
    "Upload-Length": item.file.size,
    "Upload-Metadata": `filename ${inBase64(item.name)}`,
    "Idempotency-Key": `${item.id} ${item.begun}`,
  });
  item.upload = response.headers.get("location");
  await note(item);
}

/** How much the vault has; begins the upload if it has not begun, or is past its time. */
async function findOffset(item, who) {
  if (item.upload) {
    try {
      return Number((await ask("HEAD", item.upload, who)).headers.get("upload-offset"));
    } catch (error) {
      if (error.status !== 404) throw error;
      item.begun += 1;
    }
  }
  await begin(item, who);
  return Number((await ask("HEAD", item.upload, who)).headers.get("upload-offset"));
}

/** Send one document to its end; the document it became, null if it was discarded meanwhile. */
async function send(item, who) {
  let offset = await findOffset(item, who);
  while (offset < item.file.size) {
    if (!(await outbox.get("documents", item.id))) {
      await ask("DELETE", item.upload, who);
      return null;
    }
    channel.postMessage({ id: item.id, share: offset / item.file.size });
    const body = item.file.slice(offset, offset + SLICE_BYTES);
    try {
      const headers = { "Upload-Offset": offset, "Content-Type": "application/offset+octet-stream" };
      offset = Number((await ask("PATCH", item.upload, who, headers, body)).headers.get("upload-offset"));
    } catch (error) {
      if (error.status !== 409) throw error;
      offset = await findOffset(item, who);
    }
  }
  return (await ask("GET", item.upload, who)).json();
}

/** Keep why a document was not sent, and when it is tried again. */
async function keepFailure(item, error) {
  const isRefused = error instanceof Refusal && error.isFinal;
  item.tries += 1;
  item.state = isRefused ? "refused" : "waiting";
  item.reason = error instanceof Refusal ? error.message : "";
  const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(item.tries, 10));
  item.dueAt = Date.now() + Math.max(wait, error.retryAfterMs || 0);
  await note(item);
}

async function sendDue(isUrgent) {
  const items = await outbox.all("documents");
  const waiting = items.filter(({ state }) => state !== "refused").sort((one, other) => one.at - other.at);
  if (!waiting.length) return null;
  const who = await whoIsHere();
  if (!who) return null;
  for (const item of waiting) {
    if (item.owner !== who.owner || (item.dueAt > Date.now() && !isUrgent)) continue;
    // Another page may have sent or discarded it meanwhile.
    const current = await outbox.get("documents", item.id);
    if (!current) continue;
    try {
      const sent = await send(current, who);
      if (sent) channel.postMessage({ id: current.id, sent });
      await outbox.remove("documents", current.id);
    } catch (error) {
      await keepFailure(current, error);
      channel.postMessage({ id: current.id });
      if (!(error instanceof Refusal)) break; // without a connection, the others wait too
    }
  }
  const left = (await outbox.all("documents")).filter(({ owner, state }) => owner === who.owner && state !== "refused");
  return left.length ? Math.min(...left.map(({ dueAt }) => dueAt)) : null;
}

/**
 * Send what is due; with `isUrgent` also what would be tried later. Gives the time of the next try, null if nothing is
 * left to be tried. One page or worker at a time sends.
 */
export function sendAll({ isUrgent = false } = {}) {
  if (!navigator.locks) return sendDue(isUrgent);
  return navigator.locks.request("docmill-capture", { ifAvailable: true }, (lock) => (lock ? sendDue(isUrgent) : Date.now() + BUSY_MS));
}
