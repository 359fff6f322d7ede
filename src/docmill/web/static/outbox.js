// What waits on this device: photographed pages, documents to be sent, and who was here last. In IndexedDB.

const NAME = "docmill-capture";
const STORES = { pages: "id", documents: "id", facts: "name" };

let opening = null;

function settled(request) {
  return new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error));
  });
}

function database() {
  if (!opening) {
    const request = indexedDB.open(NAME, 1);
    request.addEventListener("upgradeneeded", () => {
      for (const [name, keyPath] of Object.entries(STORES)) request.result.createObjectStore(name, { keyPath });
    });
    opening = settled(request);
  }
  return opening;
}

async function within(store, mode, act) {
  const transaction = (await database()).transaction(store, mode);
  const ended = new Promise((resolve, reject) => {
    transaction.addEventListener("complete", resolve);
    transaction.addEventListener("abort", () => reject(transaction.error)); // such as: the disk is full
  });
  const result = await settled(act(transaction.objectStore(store)));
  await ended;
  return result;
}

export const all = (store) => within(store, "readonly", (opened) => opened.getAll());

export const get = (store, key) => within(store, "readonly", (opened) => opened.get(key));

export const put = (store, value) => within(store, "readwrite", (opened) => opened.put(value));

export const remove = (store, key) => within(store, "readwrite", (opened) => opened.delete(key));

/** Put a document in the place of its pages, in one transaction. */
export async function exchange(pages, item) {
  const transaction = (await database()).transaction(["pages", "documents"], "readwrite");
  transaction.objectStore("documents").put(item);
  for (const page of pages) transaction.objectStore("pages").delete(page.id);
  await new Promise((resolve, reject) => {
    transaction.addEventListener("complete", resolve);
    transaction.addEventListener("abort", () => reject(transaction.error));
  });
}
