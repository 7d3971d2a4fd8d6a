// Hands messages over, one after the other, until the server has taken them.

import { forgetMessage, keepMessage, outbox } from "./kept.js";

/**
 * `changed(item)` is told of every step: item.state is "waiting", "sending" (item.done, 0 to 1), "failed" (item.why; goes
 * out again by itself on reconnect), "refused" (item.why; only by hand), "taken" or "withdrawn".
 * A message keeps its id over all tries, so the server knows one that it has taken already.
 */
export function sending(changed) {
  let busy = false;
  let again = false;

  async function add(item) {
    mark(item, "waiting");
    await keepMessage(item);
    return flush();
  }

  /** Sends what waits, in order; the first that finds no server holds the others back. */
  async function flush() {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      do {
        again = false;
        for (const item of await outbox()) {
          if (item.state === "taken" || item.state === "refused" || item.state === "withdrawn") continue;
          mark(item, "sending", { done: 0 });
          const outcome = await post(item, (done) => mark(item, "sending", { done }));
          if (item.state === "taken" || item.state === "withdrawn") continue;
          if (outcome.taken) {
            await taken(item);
            continue;
          }
          mark(item, outcome.again ? "failed" : "refused", { why: outcome.why });
          if (outcome.login) return location.reload();
          if (outcome.again) break;
        }
      } while (again);
    } finally {
      busy = false;
    }
  }

  async function retry(item) {
    mark(item, "waiting");
    return flush();
  }

  async function withdraw(item) {
    mark(item, "withdrawn");
    await forgetMessage(item.id);
  }

  /** The server has it: by its answer, or because it stands in the transcript. */
  async function taken(item) {
    mark(item, "taken");
    await forgetMessage(item.id);
  }

  function mark(item, state, more = {}) {
    Object.assign(item, { state, done: undefined, why: undefined }, more);
    changed(item);
  }

  return { add, flush, retry, withdraw, taken };
}

function post(item, progress) {
  const form = new FormData();
  form.set("id", item.id);
  form.set("text", item.text);
  for (const { name, blob, voice, seconds } of item.files) {
    if (voice) form.append("voiceSeconds", String(seconds));
    form.append(voice ? "voice" : "file", blob, name);
  }
  return new Promise((resolve) => {
    // fetch does not tell how far an upload is.
    const request = new XMLHttpRequest();
    request.open("POST", `/api/chats/${item.chat}/messages`);
    request.responseType = "json";
    request.upload.onprogress = ({ loaded, total }) => progress(total > 0 ? loaded / total : 0);
    request.onload = () => {
      const { status } = request;
      const why = request.response?.error ?? `The server answered ${status}.`;
      resolve({
        taken: status === 200,
        again: status >= 500 || status === 401 || status === 429,
        login: status === 401,
        why,
      });
    };
    request.onerror = () => resolve({ taken: false, again: true, why: "The server cannot be reached." });
    request.send(form);
  });
}
