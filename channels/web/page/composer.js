// The message being written: text, files by button, drop or paste, and voice notes.

import { attached, keepAttached, note } from "./kept.js";
import { element, icon, length, shownKind, size } from "./view.js";

const FILES = 10;
const FILE_BYTES = 50 * 1024 * 1024;

const $ = (id) => document.getElementById(id);

/** `send(text, files)` is called with what was written; the composer is empty then. */
export function composer(send, say) {
  let chat = "";
  let files = [];
  const urls = [];
  const text = $("text");

  async function show(next) {
    chat = next;
    files = [];
    warn("");
    text.value = note(`text:${chat}`);
    fit();
    const kept = await attached(chat);
    if (chat !== next) return;
    files = [...kept, ...files];
    drawFiles();
  }

  function submit() {
    if (recorder) return endRecording(true);
    if (text.value.trim() === "" && files.length === 0) return text.focus();
    const sent = { text: text.value.trim() === "" ? "" : text.value, files };
    text.value = "";
    files = [];
    note(`text:${chat}`, "");
    void keepAttached(chat, []);
    warn("");
    fit();
    drawFiles();
    text.focus();
    send(sent.text, sent.files);
  }

  /** Puts a message that was taken back in front of what is there. */
  function restore(item) {
    text.value = [item.text, text.value].filter(Boolean).join("\n");
    note(`text:${chat}`, text.value);
    files = [...item.files, ...files].slice(0, FILES);
    void keepAttached(chat, files);
    fit();
    drawFiles();
    text.focus();
  }

  function add(list) {
    const faults = [];
    for (const file of list) {
      if (files.length === FILES) {
        faults.push(`A message takes at most ${FILES} files; send the others in the next one.`);
        break;
      }
      if (file.blob.size > FILE_BYTES)
        faults.push(`“${file.name}” is larger than 50 MB, the most for one file; send a smaller one.`);
      else files.push(file);
    }
    warn(faults.join(" "));
    void keepAttached(chat, files);
    drawFiles();
    if (list.length > 0 && faults.length === 0)
      say(list.length === 1 ? `${list[0].name} attached` : `${list.length} files attached`);
    text.focus();
  }

  function drawFiles() {
    for (const url of urls.splice(0)) URL.revokeObjectURL(url);
    $("attached").hidden = files.length === 0;
    $("attached").replaceChildren(...files.map(drawFile));
    ready();
  }

  function drawFile(file) {
    const kind = shownKind(file.blob.type);
    const url = kind === "image" || kind === "audio" ? URL.createObjectURL(file.blob) : undefined;
    if (url) urls.push(url);
    const words = element(
      "span",
      {},
      element("bdi", { textContent: file.voice ? "Voice note" : file.name }),
      element("small", { textContent: file.seconds ? length(file.seconds) : size(file.blob.size) }),
    );
    const parts =
      kind === "image"
        ? [element("img", { src: url, alt: "" }), words]
        : kind === "audio"
          ? [words, element("audio", { src: url, controls: true, preload: "metadata" })]
          : [icon("file"), words];
    const remove = element("button", { type: "button", className: "quiet" }, icon("close"));
    remove.setAttribute("aria-label", `Remove ${file.voice ? "voice note" : file.name}`);
    remove.onclick = () => {
      files = files.filter((other) => other !== file);
      void keepAttached(chat, files);
      drawFiles();
      text.focus();
    };
    return element("li", {}, ...parts, remove);
  }

  function ready() {
    const empty = text.value.trim() === "" && files.length === 0;
    $("send").setAttribute("aria-disabled", String(empty && !recorder));
  }

  function fit() {
    text.style.height = "auto";
    text.style.height = `${text.scrollHeight}px`;
    ready();
  }

  function warn(sentence) {
    $("notice").hidden = sentence === "";
    $("notice").textContent = sentence;
  }

  // Voice notes

  let recorder;
  let asking = false;
  let started = 0;
  let ticking;

  async function record() {
    if (recorder) return endRecording(true);
    warn("");
    if (!navigator.mediaDevices || !window.MediaRecorder)
      return warn("Recording needs a page opened on this machine or over https.");
    // A second click while the browser asks would open the microphone twice, and nothing would close the first.
    if (asking) return;
    asking = true;
    let stream;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    } catch {
      return warn("The browser did not give the microphone; allow it for this page and try again.");
    } finally {
      asking = false;
    }
    const type = ["audio/webm;codecs=opus", "audio/ogg;codecs=opus", "audio/mp4"].find((each) =>
      MediaRecorder.isTypeSupported(each),
    );
    const chunks = [];
    recorder = new MediaRecorder(stream, type ? { mimeType: type } : {});
    const into = chat;
    recorder.ondataavailable = ({ data }) => chunks.push(data);
    recorder.onstop = async () => {
      for (const track of stream.getTracks()) track.stop();
      const seconds = Math.max((performance.now() - started) / 1000, 0.1);
      const { keep } = recorder;
      const mime = (recorder.mimeType || type || "audio/webm").split(";")[0];
      recorder = undefined;
      drawRecording();
      if (!keep) return;
      const blob = new Blob(chunks, { type: mime });
      const voiceNote = { name: `Voice note ${stamp()}.${mime.split("/")[1]}`, blob, voice: true, seconds };
      // It belongs to the conversation in which it was begun.
      if (into === chat) add([voiceNote]);
      else await keepAttached(into, [...(await attached(into)), voiceNote]);
    };
    started = performance.now();
    recorder.start();
    drawRecording();
    say("Recording");
    $("end-recording").focus();
  }

  function endRecording(keep) {
    if (!recorder || recorder.state === "inactive") return;
    recorder.keep = keep;
    recorder.stop();
    text.focus();
  }

  function drawRecording() {
    const on = recorder !== undefined;
    $("recording").hidden = !on;
    $("record").setAttribute("aria-pressed", String(on));
    $("record").setAttribute("aria-label", on ? "Stop recording" : "Record a voice note");
    clearInterval(ticking);
    const tick = () => ($("length").textContent = length(Math.floor((performance.now() - started) / 1000)));
    if (on) {
      tick();
      ticking = setInterval(tick, 250);
    }
    ready();
  }

  // Wiring

  $("composer").onsubmit = (event) => {
    event.preventDefault();
    submit();
  };
  text.oninput = () => {
    note(`text:${chat}`, text.value);
    fit();
  };
  // On a touch keyboard Enter is the only way to a new line.
  const touch = matchMedia("(pointer: coarse)");
  text.onkeydown = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || touch.matches) return;
    event.preventDefault();
    submit();
  };
  text.onpaste = (event) => {
    const pasted = [...(event.clipboardData?.files ?? [])];
    if (pasted.length === 0) return;
    event.preventDefault();
    add(pasted.map((blob) => ({ name: pastedName(blob), blob })));
  };
  $("attach").onclick = () => $("files").click();
  $("files").onchange = () => {
    add([...$("files").files].map((blob) => ({ name: blob.name, blob })));
    $("files").value = "";
  };
  $("record").onclick = record;
  $("end-recording").onclick = () => endRecording(true);
  $("drop-recording").onclick = () => endRecording(false);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") endRecording(false);
  });
  dropFiles((dropped) => add(dropped.map((blob) => ({ name: blob.name, blob }))));

  return { show, restore };
}

function dropFiles(take) {
  let depth = 0;
  const carriesFiles = (event) => event.dataTransfer?.types.includes("Files");
  const mark = (change) => {
    depth = Math.max(depth + change, 0);
    $("drop").hidden = depth === 0;
  };
  addEventListener("dragenter", (event) => carriesFiles(event) && mark(1));
  addEventListener("dragleave", (event) => carriesFiles(event) && mark(-1));
  addEventListener("dragover", (event) => carriesFiles(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    mark(-depth);
    take([...event.dataTransfer.files]);
  });
}

/** Browsers call every pasted picture "image.png". */
function pastedName(blob) {
  if (!/^image\.\w+$/.test(blob.name) && blob.name) return blob.name;
  const [, extension = "png"] = blob.type.split("/");
  return `Screenshot ${stamp()}.${extension}`;
}

function stamp() {
  const now = new Date();
  const two = (number) => String(number).padStart(2, "0");
  return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())} ${two(now.getHours())}.${two(now.getMinutes())}.${two(now.getSeconds())}`;
}
