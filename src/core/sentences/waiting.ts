/** Those of `SENTENCES` about messages that wait while a turn runs, and about who keeps still. */
export const WAITING_SENTENCES = {
  "command.pause": {
    en: "I keep still here, for a time such as 30 min or until /resume",
    de: "Hier halte ich still, eine Zeit wie 30 min oder bis /resume",
  },
  "command.resume": {
    en: "I speak again, and answer what came meanwhile",
    de: "Ich bin wieder da und beantworte, was inzwischen kam",
  },
  "pause.done": {
    en: "I keep still here until /resume, and keep in mind what is said.",
    de: "Ich halte hier still bis /resume und merke mir, was gesagt wird.",
  },
  "pause.done_for": {
    en: "I keep still here for {time}, and keep in mind what is said. /resume ends that sooner.",
    de: "Ich halte hier {time} lang still und merke mir, was gesagt wird. /resume beendet das früher.",
  },
  "pause.how": {
    en: "That is no time of 1 min to {days} days. Send /pause and one such as 30 min, 2 h or 1 day, or /pause alone.",
    de: "Das ist keine Zeit von 1 min bis {days} Tagen. Schicke /pause und eine wie 30 min, 2 h oder 1 Tag, oder /pause allein.",
  },
  "resume.nothing": {
    en: "I am back. Nothing was said to me meanwhile.",
    de: "Ich bin wieder da. Inzwischen hat mich niemand etwas gefragt.",
  },
  "resume.not_paused": {
    en: "I am here; nothing of yours waits.",
    de: "Ich bin da; von dir wartet nichts.",
  },
  "status.paused": { en: "\nPaused: until /resume", de: "\nPausiert: bis /resume" },
  "status.paused_for": { en: "\nPaused: for {time} more", de: "\nPausiert: noch {time}" },
  "command.queue": {
    en: "What waits, and what becomes of messages while I work",
    de: "Was wartet, und was aus Nachrichten wird, während ich arbeite",
  },
  "command.cancel": {
    en: "Take back a message that still waits",
    de: "Eine Nachricht zurücknehmen, die noch wartet",
  },
  "waiting.line": {
    en: "Noted; I will come to this after what I am doing. /cancel takes it back.",
    de: "Notiert; dazu komme ich nach dem, was ich gerade tue. /cancel nimmt es zurück.",
  },
  "waiting.cancel": { en: "Cancel", de: "Zurücknehmen" },
  "waiting.joined": {
    en: "A lot waits here already ({limit}), so I answer this together with what you said before. /queue shows what waits.",
    de: "Hier wartet schon viel ({limit}), deshalb beantworte ich das zusammen mit dem davor. /queue zeigt, was wartet.",
  },
  "waiting.full": {
    en: "Too much waits here ({limit}), so I have not taken this message. Please send it again later.",
    de: "Hier wartet zu viel ({limit}), diese Nachricht habe ich nicht angenommen. Bitte später noch einmal senden.",
  },
  "cancel.done": { en: "Taken back.", de: "Zurückgenommen." },
  "cancel.running": {
    en: "I am answering that already; /stop ends it.",
    de: "Das beantworte ich schon; /stop beendet es.",
  },
  "cancel.nothing": { en: "Nothing of yours waits.", de: "Von dir wartet nichts." },
  "cancel.gone": { en: "That does not wait any more.", de: "Das wartet nicht mehr." },
  "cancel.not_yours": {
    en: "Only whoever sent it can take it back, or the owner.",
    de: "Das kann nur zurücknehmen, wer es gesendet hat, oder wem dieser Bot gehört.",
  },
  "queue.body": {
    en: "While I work, messages {mode}.\n{waits}",
    de: "Während ich arbeite, gilt für Nachrichten: {mode}.\n{waits}",
  },
  "queue.set": {
    en: "From now on here, while I work, messages {mode}.",
    de: "Ab jetzt gilt hier für Nachrichten, während ich arbeite: {mode}.",
  },
  "queue.how": {
    en: "Send /queue and one of: steer (I look at it at my next step), queue (one turn after the other), collect (all of it at once afterwards), interrupt (I end what I am doing), default.",
    de: "Schicke /queue und eins davon: steer (beim nächsten Schritt sehe ich es), queue (eins nach dem anderen), collect (danach alles auf einmal), interrupt (ich breche ab, was ich tue), default.",
  },
  "queue.steer": {
    en: "reach me at my next step (steer)",
    de: "beim nächsten Schritt sehe ich sie (steer)",
  },
  "queue.queue": { en: "wait, each for its own answer (queue)", de: "eine nach der anderen (queue)" },
  "queue.collect": {
    en: "wait, and what each person says is answered at once (collect)",
    de: "danach alle von einer Person auf einmal (collect)",
  },
  "queue.interrupt": {
    en: "end what I am doing and come next (interrupt)",
    de: "ich breche ab, was ich tue, und sie kommen dran (interrupt)",
  },
  "queue.nothing": { en: "Nothing waits.", de: "Es wartet nichts." },
  "queue.waits": { en: "Waiting: {count}\n{lines}", de: "Es warten: {count}\n{lines}" },
  "queue.line": { en: "- {number}: {name}, for {ago}", de: "- {number}: {name}, seit {ago}" },
  "queue.more": { en: "and {count} more", de: "und {count} weitere" },
} as const;
