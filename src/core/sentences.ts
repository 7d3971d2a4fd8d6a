/**
 * The sentences that Perch itself says in a chat: key × language. One short sentence each, without a raw error in it.
 * `{name}` places are filled by `say`; a language that is not here falls back to English.
 */
const SENTENCES = {
  "turn.failed": {
    en: "Sorry, something went wrong while I was answering. Please send that again.",
    de: "Entschuldigung, beim Antworten ist etwas schiefgegangen. Bitte noch einmal senden.",
  },
  "turn.timed_out": {
    en: "Sorry, this took longer than {minutes} min, so I stopped. Please try a smaller step.",
    de: "Entschuldigung, das hat länger als {minutes} min gedauert, ich habe abgebrochen. Bitte in kleineren Schritten.",
  },
  "turn.model_failed": {
    en: "Sorry, the model did not answer. Please try again in a moment.",
    de: "Entschuldigung, das Modell hat nicht geantwortet. Bitte gleich noch einmal versuchen.",
  },
  "turn.empty": {
    en: "I have nothing to say to that.",
    de: "Dazu habe ich nichts zu sagen.",
  },
  "turn.stopped": { en: "Stopped.", de: "Gestoppt." },
  "turn.dead": {
    en: "Sorry, I could not get through a message of yours after three tries and have set it aside.",
    de: "Entschuldigung, an einer Nachricht bin ich dreimal gescheitert und habe sie beiseitegelegt.",
  },
  "turn.nothing_to_stop": { en: "Nothing is running.", de: "Es läuft gerade nichts." },
  "thread.new": {
    en: "A fresh start. What came before is kept, but I will not look at it.",
    de: "Ein neuer Anfang. Das Bisherige bleibt erhalten, ich sehe es aber nicht an.",
  },
  "status.body": {
    en: "Agent: {agent}\nModel: {model}\nThread: {thread}\nRunning: {running}\nWaiting: {waiting}",
    de: "Agent: {agent}\nModell: {model}\nThread: {thread}\nLäuft: {running}\nWartet: {waiting}",
  },
  "help.body": {
    en: "Send text, pictures, documents or voice notes.\n\n/new — start afresh\n/stop — end what is running\n/status — what is going on\n/help — this",
    de: "Schicke Text, Bilder, Dokumente oder Sprachnachrichten.\n\n/new — neu anfangen\n/stop — beenden, was läuft\n/status — was gerade geschieht\n/help — diese Hilfe",
  },
  "owner.welcome": {
    en: "You are the owner of this bot now. Send me something.",
    de: "Dir gehört jetzt dieser Bot. Schick mir etwas.",
  },
  "stranger.refused": {
    en: "Sorry, this bot is private.",
    de: "Entschuldigung, dieser Bot ist privat.",
  },
  "piece.again": { en: "(sent again)", de: "(noch einmal gesendet)" },
  "piece.failed": {
    en: "A part of my answer could not be sent: {what}.",
    de: "Ein Teil meiner Antwort ließ sich nicht senden: {what}.",
  },
  "media.left_out": { en: "[{name}: {why}]", de: "[{name}: {why}]" },
} as const satisfies Record<string, { readonly en: string; readonly de: string }>;

export type SentenceKey = keyof typeof SENTENCES;
export type Language = "en" | "de";

export function say(
  key: SentenceKey,
  language: Language = "en",
  values: Record<string, string | number> = {},
): string {
  return SENTENCES[key][language].replaceAll(/\{(\w+)\}/g, (place, name: string) =>
    String(values[name] ?? place),
  );
}
