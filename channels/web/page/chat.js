// The page: conversations at the side, one of them open, its events as they come.

import { composer } from "./composer.js";
import { note, outbox } from "./kept.js";
import { connections } from "./linking.js";
import { sending } from "./sending.js";
import { day, element, message, waiting } from "./view.js";

const $ = (id) => document.getElementById(id);

const scroll = $("scroll");
const log = $("log");

let chat = "";
let last = 0;
let chats = [];
let source;
let reopening;
let following = true;
let running = false;
/** Elements of messages on their way, by id, and which of those stand in the transcript by now. */
const onTheWay = new Map();
const arrived = new Set();

const writing = composer(send, say);
const sender = sending(drawWaiting);

function newId() {
  // crypto.randomUUID is missing on pages that came over plain http from another machine.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function say(words) {
  $("status").textContent = words;
}

// Conversations

async function listChats() {
  const answer = await ask("/api/chats");
  if (!answer) return;
  ({ chats } = answer);
  // What was said before this browser came is no news to it.
  if (note("visited") === "") for (const { id, last: newest } of chats) note(`seen:${id}`, String(newest));
  note("visited", "yes");
  drawChats();
}

function drawChats() {
  // The list is drawn anew: whoever was on a link of it stays there.
  const focused = document.activeElement?.closest?.("#chats a")?.hash;
  $("chats").replaceChildren(
    ...chats.map(({ id, title, last: newest }) => {
      const link = element("a", { href: `#${id}`, dir: "auto", textContent: title, title });
      if (id === chat) link.setAttribute("aria-current", "page");
      else if (newest > Number(note(`seen:${id}`) || 0)) {
        link.className = "news";
        link.append(element("span", { className: "unseen", textContent: " (new messages)" }));
      }
      return element("li", {}, link);
    }),
  );
  if (focused) $("chats").querySelector(`a[href="${focused}"]`)?.focus();
  drawTitle();
}

function drawTitle() {
  const title = chats.find(({ id }) => id === chat)?.title ?? "New conversation";
  $("title").textContent = title;
  document.title = title === "New conversation" ? "Perch" : `${title} · Perch`;
}

async function openChat(id) {
  source?.close();
  clearTimeout(reopening);
  chat = id;
  last = 0;
  following = true;
  for (const known of onTheWay.keys()) remove(known);
  arrived.clear();
  note("chat", id);
  log.replaceChildren();
  $("outbox").replaceChildren();
  $("earlier").hidden = true;
  $("empty").hidden = true;
  showSign({ kind: "idle" });
  drawChats();
  await writing.show(id);
  await load(id);
}

async function load(id) {
  // What was said before is not read out again.
  log.setAttribute("aria-busy", "true");
  const answer = await ask(`/api/chats/${id}/entries`);
  if (chat !== id) return;
  if (!answer) {
    offline(true);
    reopening = setTimeout(() => load(id), 2000);
    return;
  }
  log.replaceChildren();
  for (const entry of answer.entries) showEntry(entry);
  $("earlier").hidden = !answer.earlier;
  log.removeAttribute("aria-busy");
  for (const item of await outbox())
    if (arrived.has(item.id)) void sender.taken(item);
    else if (item.chat === id) drawWaiting(item);
  if (chat !== id) return;
  drawEmpty();
  toNewest();
  listen(id);
  void listChats();
}

async function showEarlier() {
  const first = log.querySelector(".message");
  const answer = await ask(`/api/chats/${chat}/entries?before=${first.dataset.seq}`);
  // A second click has brought them already, or another conversation is open by now.
  if (!answer || log.querySelector(".message") !== first) return;
  const height = scroll.scrollHeight;
  log.setAttribute("aria-busy", "true");
  log.prepend(...answer.entries.map(message));
  drawDays();
  log.removeAttribute("aria-busy");
  scroll.scrollTop += scroll.scrollHeight - height;
  $("earlier").hidden = !answer.earlier;
  first.tabIndex = -1;
  first.focus({ preventScroll: true });
}

// What comes

function listen(id) {
  source?.close();
  source = new EventSource(`/api/chats/${id}/events?after=${last}`);
  source.onopen = () => {
    offline(false);
    void sender.flush();
  };
  source.onerror = () => {
    offline(true);
    // The browser tries again by itself after a lost connection, but not after an answer that was no stream.
    if (source.readyState !== EventSource.CLOSED) return;
    clearTimeout(reopening);
    reopening = setTimeout(async () => {
      if (chat !== id) return;
      await ask("/api/chats");
      listen(id);
    }, 2000);
  };
  source.addEventListener("entry", (event) => {
    const entry = JSON.parse(event.data);
    if (entry.seq <= last) return;
    if (entry.from === "agent") showSign({ kind: "idle" }, true);
    showEntry(entry);
    drawEmpty();
    follow();
  });
  source.addEventListener("sign", (event) => showSign(JSON.parse(event.data)));
  source.addEventListener("chats", () => void listChats());
}

function showEntry(entry) {
  last = entry.seq;
  note(`seen:${chat}`, String(last));
  log.append(message(entry));
  drawDays();
  if (entry.from === "you") {
    arrived.add(entry.id);
    const item = onTheWay.get(entry.id)?.item;
    if (item) void sender.taken(item);
  }
  for (const picture of log.lastElementChild.querySelectorAll("img, video, audio"))
    picture.addEventListener(picture.localName === "img" ? "load" : "loadedmetadata", follow, { once: true });
}

function drawDays() {
  for (const old of log.querySelectorAll(".day")) old.remove();
  let before;
  for (const each of log.querySelectorAll(".message")) {
    if (each.dataset.day !== before) each.before(day(each.dataset.day));
    before = each.dataset.day;
  }
}

let clearing;

/** The final answer takes the draft's place at once; a draft that ends without one is taken down a moment later. */
function showSign(sign, atOnce = false) {
  clearTimeout(clearing);
  if (sign.kind === "idle") {
    const clear = () => {
      $("live").hidden = true;
      $("draft").hidden = true;
      $("draft").textContent = "";
    };
    if (atOnce) clear();
    else clearing = setTimeout(clear, 200);
  } else {
    $("live").hidden = false;
    $("draft").hidden = sign.kind !== "draft";
    $("draft").textContent = sign.kind === "draft" ? sign.text : "";
    follow();
  }
  const now = sign.kind !== "idle";
  if (now === running) return;
  running = now;
  if (!now && document.activeElement === $("stop")) $("text").focus();
  $("stop").hidden = !now;
  $("stop").disabled = false;
  say(now ? "The agent is answering" : "");
}

function offline(lost) {
  $("link").hidden = !lost;
}

// What goes out

function send(text, files) {
  following = true;
  void sender.add({ id: newId(), chat, text, files, at: new Date().toISOString() });
}

function drawWaiting(item) {
  const known = onTheWay.get(item.id);
  if (item.state === "withdrawn" || arrived.has(item.id)) {
    remove(item.id);
    return drawEmpty();
  }
  // One that is taken stays where it is until its entry comes.
  if (item.state === "taken" && !known) return undefined;
  if (item.chat !== chat) return;
  let made = known?.made;
  if (!made) {
    const urls = [];
    made = waiting(item, (blob) => {
      const url = URL.createObjectURL(blob);
      urls.push(url);
      return url;
    });
    onTheWay.set(item.id, { item, made, urls });
    $("outbox").append(made);
    drawEmpty();
    toNewest();
  }
  setFate(made, item);
}

function setFate(made, item) {
  const fate = made.querySelector(".fate");
  const failed = item.state === "failed" || item.state === "refused";
  made.classList.toggle("failed", failed);
  made.setAttribute("aria-label", failed ? "You, not sent" : "You, being sent");
  if (!failed) {
    const percent = Math.floor((item.done ?? 0) * 100);
    fate.textContent =
      item.state === "taken"
        ? ""
        : item.files.length > 0 && percent < 100
          ? `Sending… ${percent} %`
          : "Sending…";
    return;
  }
  const retry = element("button", { type: "button", className: "text", textContent: "Try again" });
  retry.onclick = () => sender.retry(item);
  const back = element("button", { type: "button", className: "text", textContent: "Edit" });
  back.onclick = async () => {
    await sender.withdraw(item);
    writing.restore(item);
  };
  fate.replaceChildren(element("span", { textContent: `Not sent. ${item.why}` }), retry, back);
  say(`Not sent. ${item.why}`);
  follow();
}

function remove(id) {
  const known = onTheWay.get(id);
  onTheWay.delete(id);
  known?.made.remove();
  for (const url of known?.urls ?? []) URL.revokeObjectURL(url);
}

async function stop() {
  $("stop").disabled = true;
  try {
    const answer = await fetch(`/api/chats/${chat}/stop`, { method: "POST", body: newId() });
    if (!answer.ok) throw new Error();
  } catch {
    $("stop").disabled = false;
    say("The stop was not taken; please try again.");
  }
}

// Place and size

function drawEmpty() {
  $("empty").hidden = log.childElementCount > 0 || $("outbox").childElementCount > 0;
}

function follow() {
  if (following) scroll.scrollTop = scroll.scrollHeight;
  else $("newest").hidden = false;
}

function toNewest() {
  following = true;
  $("newest").hidden = true;
  scroll.scrollTop = scroll.scrollHeight;
}

scroll.onscroll = () => {
  following = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;
  if (following) $("newest").hidden = true;
};
new ResizeObserver(() => following && toNewest()).observe(scroll);

function side(open) {
  $("side").classList.toggle("open", open);
  $("veil").hidden = !open;
  $("show-side").setAttribute("aria-expanded", String(open));
  if (open) $("new").focus();
}

// Small things

/** JSON of a GET, or undefined when there is no server; a page that is no longer logged in is loaded anew. */
async function ask(url) {
  try {
    const answer = await fetch(url);
    if (answer.status === 401) location.reload();
    if (answer.ok) return await answer.json();
    // What nobody reads is never at its end, and counts as a request under way.
    await answer.body?.cancel();
    return undefined;
  } catch {
    return undefined;
  }
}

function fromAddress() {
  const id = location.hash.slice(1);
  return /^[\w-]{8,64}$/.test(id) ? id : undefined;
}

$("new").onclick = () => {
  location.hash = newId();
};
$("chats").onclick = () => side(false);
$("show-side").onclick = () => side(true);
$("hide-side").onclick = () => {
  side(false);
  $("show-side").focus();
};
$("veil").onclick = () => side(false);
$("stop").onclick = stop;
$("earlier").onclick = showEarlier;
$("newest").onclick = toNewest;
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && $("side").classList.contains("open")) $("hide-side").click();
});
addEventListener("online", () => void sender.flush());
addEventListener("hashchange", async () => {
  side(false);
  await openChat(fromAddress() ?? newId());
  $("text").focus();
});

const first = fromAddress() ?? (/^[\w-]{8,64}$/.test(note("chat")) ? note("chat") : newId());
history.replaceState(null, "", `#${first}`);
await openChat(first);
$("text").focus();
void connections(ask);
