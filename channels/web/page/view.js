// Turns what was said into elements. Names and people's own text are only ever set as text.

const ICON = {
  file: "M14 3.5H7a1.5 1.5 0 0 0-1.5 1.5v14A1.5 1.5 0 0 0 7 20.5h10a1.5 1.5 0 0 0 1.5-1.5V8zM14 3.5V8h4.5",
  sound: "M4 12h1.5M8 8v8M11.5 5v14M15 8.5v7M18.5 11v2",
  close: "M6 6l12 12M18 6L6 18",
};

export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICON[name]);
  svg.append(path);
  return svg;
}

export function size(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} KB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function length(seconds) {
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

/** An entry of the transcript. */
export function message(entry) {
  const made = element("article", { className: `message ${entry.from}` });
  made.dataset.seq = entry.seq;
  made.dataset.day = new Date(entry.at).toDateString();
  made.setAttribute("aria-label", entry.from === "you" ? "You" : "Answer");
  if (entry.media.length > 0 && entry.from === "you") made.append(media(entry.media));
  if (entry.text?.trim())
    made.append(element("p", { className: "said", dir: "auto", textContent: entry.text }));
  if (entry.html !== undefined) made.append(answer(entry.html));
  if (entry.media.length > 0 && entry.from === "agent") made.append(media(entry.media));
  made.append(time(entry.at));
  return made;
}

/** A message on its way: what it holds, and how it fares. */
export function waiting(item, urlOf) {
  const made = element("article", { className: "message you waiting" });
  made.dataset.id = item.id;
  made.setAttribute("aria-label", "You, being sent");
  const files = item.files.map(({ name, blob, voice, seconds }) => ({
    kind: shownKind(blob.type),
    name,
    bytes: blob.size,
    url: urlOf(blob),
    voice,
    durationSeconds: seconds,
  }));
  if (files.length > 0) made.append(media(files));
  if (item.text.trim()) made.append(element("p", { className: "said", dir: "auto", textContent: item.text }));
  made.append(element("p", { className: "fate" }));
  return made;
}

/** Pictures that every browser shows: those that the server takes for ones (shown.ts). */
const PICTURES = /^image\/(?:apng|avif|bmp|gif|jpeg|png|webp)$/;

export function shownKind(type) {
  if (PICTURES.test(type)) return "image";
  const [family] = type.split("/");
  return ["audio", "video"].includes(family) ? family : "file";
}

/** A separator between two days. */
export function day(at) {
  const then = new Date(at);
  const today = new Date();
  const yesterday = new Date();
  yesterday.setDate(today.getDate() - 1);
  const words =
    then.toDateString() === today.toDateString()
      ? "Today"
      : then.toDateString() === yesterday.toDateString()
        ? "Yesterday"
        : then.toLocaleDateString(undefined, {
            weekday: "long",
            day: "numeric",
            month: "long",
            ...(then.getFullYear() === today.getFullYear() ? {} : { year: "numeric" }),
          });
  return element("p", { className: "day", textContent: words });
}

// The server renders answers safely, and the page's policy runs no script that is not its own. This is the third wall.
const UNWANTED = "script, style, link, meta, base, iframe, frame, object, embed, form, svg, math, template";

const UNWANTED_ADDRESS = /^(?:javascript|data|vbscript):/i;

export function answer(html) {
  // A document of its own: nothing in it loads or runs while it is looked through.
  const content = new DOMParser().parseFromString(html, "text/html").body;
  for (const found of content.querySelectorAll(UNWANTED)) found.remove();
  for (const found of content.querySelectorAll("*"))
    for (const { name, value } of [...found.attributes])
      // Browsers read an address without the blanks and control characters in it.
      if (/^on|^style$|^id$/i.test(name) || UNWANTED_ADDRESS.test(value.replace(/[\0-\x20]/g, "")))
        found.removeAttribute(name);
  for (const link of content.querySelectorAll("a[href]")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
  }
  for (const box of content.querySelectorAll("input")) box.disabled = true;
  for (const block of content.querySelectorAll("pre")) withCopy(block);
  for (const wide of content.querySelectorAll(".table-scroll, pre")) wide.tabIndex = 0;
  const made = element("div", { className: "answer", dir: "auto" });
  made.append(...content.childNodes);
  return made;
}

function withCopy(block) {
  // Browsers hand the clipboard to secure pages alone.
  if (!navigator.clipboard) return;
  const button = element("button", { type: "button", textContent: "Copy" });
  button.onclick = async () => {
    await navigator.clipboard.writeText(block.textContent);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  };
  const frame = element("div", { className: "codeblock" });
  block.replaceWith(frame);
  frame.append(block, button);
}

function media(items) {
  const made = element("div", { className: "media" });
  made.classList.toggle("many", items.filter(({ kind }) => kind === "image").length > 1);
  made.append(...items.map(medium));
  return made;
}

function medium(item) {
  const shown = show(item);
  if (item.caption === undefined) return shown;
  const caption = element("figcaption", {}, ...answer(item.caption).childNodes);
  caption.className = "answer";
  return element("figure", {}, shown, caption);
}

function show(item) {
  switch (item.kind) {
    case "image": {
      const picture = element("img", { src: item.url, alt: item.name, loading: "lazy", decoding: "async" });
      if (item.width && item.height) Object.assign(picture, { width: item.width, height: item.height });
      return element(
        "a",
        { className: "picture", href: item.url, target: "_blank", title: item.name },
        picture,
      );
    }
    case "audio": {
      const player = element("audio", { src: item.url, controls: true, preload: "metadata" });
      const name = item.voice ? "Voice note" : item.name;
      player.setAttribute("aria-label", name);
      const words = element("p", {}, element("bdi", { textContent: name }));
      if (item.durationSeconds) words.append(element("span", { textContent: length(item.durationSeconds) }));
      return element("div", { className: "sound" }, words, player);
    }
    case "video": {
      const player = element("video", { src: item.url, controls: true, preload: "metadata" });
      player.setAttribute("aria-label", item.name);
      return player;
    }
    default: {
      const words = element(
        "span",
        {},
        element("bdi", { textContent: item.name }),
        element("small", { textContent: size(item.bytes) }),
      );
      return element(
        "a",
        { className: "file", href: item.url, download: item.name, title: item.name },
        icon("file"),
        words,
      );
    }
  }
}

function time(at) {
  const made = element("time", {
    dateTime: at,
    textContent: new Date(at).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" }),
  });
  made.title = new Date(at).toLocaleString();
  return made;
}
