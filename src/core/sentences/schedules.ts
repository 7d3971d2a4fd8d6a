/** Those of `SENTENCES` about what is done at a time. */
export const SCHEDULE_SENTENCES = {
  "command.schedules": {
    en: "What I do here by itself; with cancel and a number one of it ends",
    de: "Was ich hier von selbst tue; mit cancel und einer Nummer endet eins davon",
  },
  "schedules.none": { en: "Nothing is scheduled here.", de: "Hier ist nichts geplant." },
  "schedules.body": {
    en: "{lines}\n\nSend /schedules cancel and a number to end one.",
    de: "{lines}\n\nMit /schedules cancel und einer Nummer endet eins davon.",
  },
  "schedules.active": {
    en: "{number}. {name}, {when}: next {next}; last: {outcome}",
    de: "{number}. {name}, {when}: wieder {next}; zuletzt: {outcome}",
  },
  "schedules.over": {
    en: "{number}. {name}, {when}: over; last: {outcome}",
    de: "{number}. {name}, {when}: vorbei; zuletzt: {outcome}",
  },
  "schedules.cancelled": { en: "Ended: {name}.", de: "Beendet: {name}." },
  "schedules.unknown": {
    en: "There is nothing to come here under that number.",
    de: "Unter dieser Nummer kommt hier nichts mehr.",
  },
  "schedules.operators": {
    en: "That one stands in perch.yaml, and ends there.",
    de: "Das steht in perch.yaml und endet dort.",
  },
  "schedules.not_yours": {
    en: "Only whoever asked for it, or the owner, can end that.",
    de: "Das kann nur beenden, wer darum gebeten hat, oder wem dieser Bot gehört.",
  },
  "when.cron": { en: "{cron}", de: "{cron}" },
  "when.every": { en: "every {minutes} min", de: "alle {minutes} min" },
  "when.at": { en: "once", de: "einmal" },
  "outcome.none": { en: "not yet", de: "noch nie" },
  "outcome.waiting": { en: "waiting", de: "wartet" },
  "outcome.running": { en: "running", de: "läuft" },
  "outcome.delivered": { en: "delivered", de: "zugestellt" },
  "outcome.silent": { en: "nothing to say", de: "nichts zu sagen" },
  "outcome.unknown": {
    en: "sent, but I do not know whether it arrived",
    de: "geschickt, ob es ankam, weiß ich nicht",
  },
  "outcome.stopped": { en: "stopped", de: "angehalten" },
  "outcome.forgotten": { en: "too long ago to know", de: "zu lange her, um es zu wissen" },
  "outcome.partly": {
    en: "{sent} of {of} messages sent, the others failed",
    de: "{sent} von {of} Nachrichten geschickt, die anderen sind gescheitert",
  },
  "outcome.failed": { en: "failed ({why})", de: "gescheitert ({why})" },
  "held.quiet": { en: "put off because of quiet hours", de: "aufgeschoben wegen der Ruhezeit" },
  "held.cap": {
    en: "left out: this chat has had all of that day's messages that nobody asks for",
    de: "ausgelassen: was hier an einem Tag ungefragt kommen darf, war schon gekommen",
  },
  "held.paused": { en: "put off while I keep still", de: "aufgeschoben, solange ich still halte" },
  "held.not_met": {
    en: "left out: nobody had written there yet",
    de: "ausgelassen: dort hatte noch niemand geschrieben",
  },
  "held.past": { en: "left out: its time was over", de: "ausgelassen: die Zeit war schon vorbei" },
} as const;
