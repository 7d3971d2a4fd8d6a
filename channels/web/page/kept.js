// What was written and not yet taken, kept in the browser so that a reload or a lost connection loses nothing.

const NAME = "perch";
let database;
// A browser that keeps nothing (some private windows) still sends; it forgets on reload.
const memory = { outbox: new Map(), attached: new Map() };

function open() {
  database ??= new Promise((resolve) => {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore("outbox", { keyPath: "id" });
      request.result.createObjectStore("attached", { keyPath: "chat" });
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => resolve(undefined);
  });
  return database;
}

async function run(store, mode, ask) {
  const db = await open();
  if (!db) return undefined;
  return new Promise((resolve) => {
    try {
      const request = ask(db.transaction(store, mode).objectStore(store));
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => resolve(undefined);
    } catch {
      resolve(undefined);
    }
  });
}

/** Messages that the server has not taken yet, oldest first. */
export async function outbox() {
  for (const item of (await run("outbox", "readonly", (store) => store.getAll())) ?? [])
    if (!memory.outbox.has(item.id)) memory.outbox.set(item.id, item);
  return [...memory.outbox.values()].sort((a, b) => (a.at < b.at ? -1 : 1));
}

export function keepMessage(item) {
  memory.outbox.set(item.id, item);
  const { id, chat, text, files, at } = item;
  return run("outbox", "readwrite", (store) => store.put({ id, chat, text, files, at }));
}

export function forgetMessage(id) {
  memory.outbox.delete(id);
  return run("outbox", "readwrite", (store) => store.delete(id));
}

/** Files picked for a conversation's next message. */
export async function attached(chat) {
  const known = memory.attached.get(chat);
  if (known) return known;
  return (await run("attached", "readonly", (store) => store.get(chat)))?.files ?? [];
}

export function keepAttached(chat, files) {
  memory.attached.set(chat, files);
  return run("attached", "readwrite", (store) =>
    files.length === 0 ? store.delete(chat) : store.put({ chat, files }),
  );
}

/** Small things by name; an empty value is forgotten. */
export function note(name, value) {
  try {
    if (value === undefined) return localStorage.getItem(`perch:${name}`) ?? "";
    if (value === "") localStorage.removeItem(`perch:${name}`);
    else localStorage.setItem(`perch:${name}`, value);
  } catch {
    // Storage is off or full: the page works without.
  }
  return value ?? "";
}
