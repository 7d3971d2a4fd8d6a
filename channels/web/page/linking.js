// The other connections of this gateway: where they stand, and linking one with a phone.

import { element } from "./view.js";

const $ = (id) => document.getElementById(id);
const LOOK_MS = 15_000;
/** While one of them is on its way somewhere. */
const SOON_MS = 2_000;

let ending;
let linked = "";

/** Shows what is not open; a gateway without such a list shows nothing. */
export async function connections(ask) {
  const answer = document.hidden ? undefined : await ask("/connections");
  const others = (answer?.connections ?? []).filter(({ is, kind }) => is !== "off" && kind !== "web");
  if (answer) draw(others.filter(({ is }) => is !== "open"));
  const unsteady = others.some(({ is }) => is === "connecting" || is === "pairing");
  setTimeout(() => void connections(ask), unsteady ? SOON_MS : LOOK_MS);
}

function draw(list) {
  const focused = document.activeElement?.closest?.("#connections button")?.dataset.id;
  $("connections").hidden = list.length === 0;
  $("connections").replaceChildren(
    ...list.map(({ id, is, words, pairs }) => {
      const item = element(
        "li",
        { title: words },
        element("span", { textContent: id }),
        element("small", { textContent: words }),
      );
      item.dataset.is = is;
      if (!pairs || (is !== "unpaired" && is !== "pairing")) return item;
      const button = element("button", { type: "button", className: "text strong", textContent: "Link" });
      button.setAttribute("aria-label", `Link ${id} with a phone`);
      button.dataset.id = id;
      button.onclick = () => open(id);
      item.append(button);
      return item;
    }),
  );
  if (focused)
    $("connections")
      .querySelector(`button[data-id="${CSS.escape(focused)}"]`)
      ?.focus();
}

function open(id) {
  linked = id;
  $("linking-title").textContent = `Link ${id}`;
  $("linking").showModal();
  void link();
}

/** One attempt; a new one takes the place of the one before. */
async function link(phone) {
  ending?.abort();
  const own = (ending = new AbortController());
  show({ said: "Asking WhatsApp…", phone });
  try {
    const answer = await fetch("/connections", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ connection: linked, ...(phone ? { phone } : {}) }),
      signal: own.signal,
    });
    if (!answer.ok) return show({ said: await answer.text(), again: true });
    for await (const line of lines(answer.body)) if (!own.signal.aborted) step(JSON.parse(line), phone);
  } catch {
    if (!own.signal.aborted) show({ said: "The server is not reached. Please try again.", again: true });
  }
}

function step(said, phone) {
  switch (said.kind) {
    case "qr":
      return show({ svg: said.svg, said: "The code changes by itself.", phone });
    case "code":
      return show({
        code: said.code,
        said: "Tap “Link with phone number instead” there and type this.",
        phone,
      });
    case "agreed":
      return show({ said: "The phone has agreed; one moment…", phone });
    case "linked":
      return show({ said: "Linked. It answers from now on.", done: true });
    case "failed":
      return show({ said: said.why, again: true });
  }
}

function show({ svg, code, said, phone, again = false, done = false }) {
  const picture = $("linking-qr");
  if (picture.src) URL.revokeObjectURL(picture.src);
  picture.hidden = !svg;
  if (svg) picture.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  else picture.removeAttribute("src");
  $("linking-code").hidden = !code;
  $("linking-code").textContent = code ? `${code.slice(0, 4)}-${code.slice(4)}` : "";
  $("linking-way").textContent = phone ? "Link with phone number instead" : "Scan this";
  $("linking-said").textContent = said;
  $("linking-phone").hidden = done;
  $("linking-again").hidden = !again;
}

async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value = "" } = await reader.read();
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    yield* parts;
    if (done) return;
  }
}

$("linking-phone").onsubmit = (event) => {
  event.preventDefault();
  void link($("linking-number").value.replace(/[\s()-]/g, ""));
};
$("linking-again").onclick = () => void link();
$("linking-close").onclick = () => $("linking").close();
$("linking").onclose = () => {
  ending?.abort();
  show({ said: "" });
};
