import { APPROVAL_SENTENCES } from "./sentences/approvals.ts";
import { BUDGET_SENTENCES } from "./sentences/budgets.ts";
import { MEDIA_SENTENCES } from "./sentences/media.ts";
import { SCHEDULE_SENTENCES } from "./sentences/schedules.ts";
import { TURN_SENTENCES } from "./sentences/turns.ts";
import { WAITING_SENTENCES } from "./sentences/waiting.ts";

/**
 * The sentences that Perch itself says in a chat: key × language. One short sentence each, without a raw error in it.
 * `{name}` places are filled by `say`; a language that is not here falls back to English.
 */
const SENTENCES = {
  ...TURN_SENTENCES,
  ...WAITING_SENTENCES,
  ...APPROVAL_SENTENCES,
  ...BUDGET_SENTENCES,
  ...SCHEDULE_SENTENCES,
  ...MEDIA_SENTENCES,
  "thread.new": {
    en: "A fresh start. What came before is kept, but I will not look at it.",
    de: "Ein neuer Anfang. Das Bisherige bleibt erhalten, ich sehe es aber nicht an.",
  },
  "compact.done": {
    en: "Summed up: {before} tokens before, {after} now.",
    de: "Zusammengefasst: vorher {before} Token, jetzt {after}.",
  },
  "compact.not_yet": {
    en: "There is too little to sum up yet: {now} of {window} tokens.",
    de: "Zum Zusammenfassen ist es noch zu wenig: {now} von {window} Token.",
  },
  "compact.waits": {
    en: "I am waiting for an answer first; then I can sum up.",
    de: "Ich warte erst auf eine Antwort; dann kann ich zusammenfassen.",
  },
  "compact.own_graph": {
    en: "This agent keeps its thread itself; I cannot sum it up.",
    de: "Dieser Agent führt seinen Thread selbst, zusammenfassen kann ich ihn nicht.",
  },
  "tokens.about": { en: "about {count}", de: "etwa {count}" },
  "context.none": {
    en: "Nothing has been answered in this thread yet.",
    de: "In diesem Thread ist noch nichts beantwortet.",
  },
  "context.own_graph": {
    en: "This agent keeps its thread itself; I do not know how full it is.",
    de: "Dieser Agent führt seinen Thread selbst, wie voll er ist, weiß ich nicht.",
  },
  "context.body": {
    en: "{title}Messages: {messages}\nTokens: {tokens} of {window} ({percent} %){use}",
    de: "{title}Nachrichten: {messages}\nToken: {tokens} von {window} ({percent} %){use}",
  },
  "context.title": { en: "Thread: {title}\n", de: "Thread: {title}\n" },
  "context.use": {
    en: "\nLast turn: {input} tokens read, {output} written{cost}",
    de: "\nZuletzt: {input} Token gelesen, {output} geschrieben{cost}",
  },
  "context.use_all": {
    en: "\nThis thread so far: {input} tokens read, {output} written{cost}",
    de: "\nDieser Thread bisher: {input} Token gelesen, {output} geschrieben{cost}",
  },
  "context.cost": { en: ", cost {cost}", de: ", Kosten {cost}" },
  "status.body": {
    en: "Agent: {agent}\nModel: {model}\nThread: {thread}\nRunning: {running}\nWaiting: {waiting}{pause}{place}{connections}",
    de: "Agent: {agent}\nModell: {model}\nThread: {thread}\nLäuft: {running}\nWartet: {waiting}{pause}{place}{connections}",
  },
  "status.place": {
    en: "\nThis chat in perch.yaml: {place}",
    de: "\nDieser Chat in perch.yaml: {place}",
  },
  "status.connection": {
    en: "\nConnection {id}: {words}",
    de: "\nVerbindung {id}: {words}",
  },
  "connection.connecting": { en: "connecting", de: "verbindet sich" },
  "connection.elsewhere": { en: "open in another process", de: "in einem anderen Prozess offen" },
  "connection.open": { en: "open", de: "offen" },
  "connection.pairing": {
    en: "waiting for a phone to link it, for {left} more",
    de: "wartet noch {left} darauf, mit einem Telefon verknüpft zu werden",
  },
  "connection.waiting": { en: "tries again in {left}: {why}", de: "versucht es in {left} wieder: {why}" },
  "connection.unpaired": { en: "not linked: {why}", de: "nicht verknüpft: {why}" },
  "connection.stopped": { en: "stopped: {why}", de: "angehalten: {why}" },
  "help.body": {
    en: "Send text, pictures, documents or voice notes.\n\n{commands}",
    de: "Schicke Text, Bilder, Dokumente oder Sprachnachrichten.\n\n{commands}",
  },
  "why.body": { en: "{missed}\n\n{last}", de: "{missed}\n\n{last}" },
  "why.missed": {
    en: "{count} × {why}, last {ago} ago",
    de: "{count} × {why}, zuletzt vor {ago}",
  },
  "why.nothing": {
    en: "Every message of the last 24 h has been answered.",
    de: "Jede Nachricht der letzten 24 h ist beantwortet.",
  },
  "why.turn": {
    en: "The last turn: {agent} ({model}), begun {ago} ago, took {took}: {state}",
    de: "Zuletzt: {agent} ({model}), begonnen vor {ago}, dauerte {took}: {state}",
  },
  "model.body": {
    en: "{agent} answers here, with {model}.\nText: yes\nPictures: {images}\nPDF: {pdf}\nSound: {audio}",
    de: "Hier antwortet {agent}, mit {model}.\nText: ja\nBilder: {images}\nPDF: {pdf}\nTon: {audio}",
  },
  "model.yes": { en: "yes", de: "ja" },
  "model.no": { en: "no", de: "nein" },
  "model.perhaps": { en: "as far as the model can", de: "soweit das Modell es kann" },
  "model.as_text": { en: "written down first", de: "wird erst mitgeschrieben" },
  "command.owner_only": {
    en: "Only the owner can do that.",
    de: "Das kann nur, wem dieser Bot gehört.",
  },
  "command.new": { en: "Start afresh", de: "Neu anfangen" },
  "command.stop": { en: "End what is running", de: "Beenden, was läuft" },
  "command.compact": { en: "Sum this thread up", de: "Diesen Thread zusammenfassen" },
  "command.context": { en: "How full this thread is", de: "Wie voll dieser Thread ist" },
  "command.status": { en: "What is going on", de: "Was gerade geschieht" },
  "command.help": { en: "What I can do", de: "Was ich kann" },
  "command.why": { en: "What became of the last messages", de: "Was aus den letzten Nachrichten wurde" },
  "command.model": { en: "Who answers, and what they can see", de: "Wer antwortet, und was er sehen kann" },
  "command.memory": { en: "What I remember", de: "Was ich mir gemerkt habe" },
  "command.forget": {
    en: "Forget one thing by its number, or all of this chat",
    de: "Eins nach seiner Nummer vergessen, oder alles in diesem Chat",
  },
  "command.export": {
    en: "All that is kept of this chat, as a file",
    de: "Alles, was von diesem Chat aufbewahrt wird, als Datei",
  },
  "command.pending": { en: "What waits for an answer", de: "Was auf eine Antwort wartet" },
  "command.pair": { en: "Let somebody in by their code", de: "Jemanden mit einem Code hereinlassen" },
  "memory.nothing": { en: "I remember nothing yet.", de: "Ich habe mir noch nichts gemerkt." },
  "memory.off": {
    en: "This agent remembers nothing beyond the conversation.",
    de: "Dieser Agent merkt sich nichts über das Gespräch hinaus.",
  },
  "memory.body": {
    en: "What I remember here:\n\n{facts}\n\nSend /forget and a number to have one forgotten.",
    de: "Das habe ich mir hier gemerkt:\n\n{facts}\n\nMit /forget und einer Nummer vergesse ich eins davon.",
  },
  "memory.more": {
    en: "There is more: /memory {number} shows it from there on.",
    de: "Es gibt noch mehr: /memory {number} zeigt es von da an.",
  },
  "memory.fact": { en: "{number}. {content} ({date})", de: "{number}. {content} ({date})" },
  "forget.how": {
    en: "Send /forget and the number of one thing from /memory. Send exactly /forget all to have everything of this chat deleted: messages, media, memory and files.",
    de: "Schicke /forget und die Nummer von etwas aus /memory. Mit genau /forget all wird alles von diesem Chat gelöscht: Nachrichten, Medien, Gemerktes und Dateien.",
  },
  "forget.one": { en: "Forgotten: {number}.", de: "Vergessen: {number}." },
  "forget.unknown": {
    en: "I remember nothing under that number.",
    de: "Unter dieser Nummer habe ich mir nichts gemerkt.",
  },
  "forget.done": {
    en: "Everything of this chat is deleted. Messages: {messages}. Media: {media}. Remembered: {facts}. Checkpoints: {checkpoints}. Files: {files}.",
    de: "Alles von diesem Chat ist gelöscht. Nachrichten: {messages}. Medien: {media}. Gemerktes: {facts}. Zwischenstände: {checkpoints}. Dateien: {files}.",
  },
  "export.done": {
    en: "This is all that I keep of this chat.",
    de: "Das ist alles, was ich von diesem Chat aufbewahre.",
  },
  "owner.welcome": {
    en: "You are the owner of this bot now. Send me something.",
    de: "Dir gehört jetzt dieser Bot. Schick mir etwas.",
  },
  "stranger.refused": {
    en: "Sorry, this bot is private.",
    de: "Entschuldigung, dieser Bot ist privat.",
  },
  "stranger.code": {
    en: "This bot is private. Give this code to its owner within the hour, and you will be let in: {code}",
    de: "Dieser Bot ist privat. Gib diesen Code innerhalb einer Stunde dem, dem er gehört, und du wirst hereingelassen: {code}",
  },
  "stranger.spent": {
    en: "You have had your answers of this hour ({limit}); please try again in {minutes} min.",
    de: "Das waren die Antworten dieser Stunde ({limit}); bitte in {minutes} min noch einmal versuchen.",
  },
  "pair.asks": {
    en: "{name} asks to talk to this bot. Let them in here, or by /pair and the code that they were given.",
    de: "{name} möchte mit diesem Bot reden. Hier hereinlassen, oder mit /pair und dem Code, den sie bekommen haben.",
  },
  "pair.allow": { en: "Allow", de: "Hereinlassen" },
  "pair.refuse": { en: "Refuse", de: "Abweisen" },
  "pair.welcome": {
    en: "You have been let in. Send me something.",
    de: "Du bist hereingelassen worden. Schick mir etwas.",
  },
  "pair.done": {
    en: "They are let in, in {channel}.",
    de: "Hereingelassen, in {channel}.",
  },
  "pair.waiting": {
    en: "Asking to be let in: {count}. Send /pair and the code that they were given.",
    de: "Es möchten hereingelassen werden: {count}. Schicke /pair und den Code, den sie bekommen haben.",
  },
  "pair.unknown": {
    en: "Nobody was given this code within the last hour.",
    de: "Diesen Code hat in der letzten Stunde niemand bekommen.",
  },
  "pair.barred": {
    en: "Too many wrong codes; please try again in {minutes} min.",
    de: "Zu viele falsche Codes; bitte in {minutes} min noch einmal versuchen.",
  },
  "choice.ask": { en: "Please choose.", de: "Bitte wählen." },
  "choice.expired": { en: "That has expired.", de: "Das ist abgelaufen." },
  "choice.not_yours": { en: "That is not for you.", de: "Das ist nicht für dich." },
  "choice.used": { en: "That was answered already.", de: "Das wurde schon beantwortet." },
  "piece.again": { en: "(sent again)", de: "(noch einmal gesendet)" },
  "piece.failed": {
    en: "A part of my answer could not be sent: {what}.",
    de: "Ein Teil meiner Antwort ließ sich nicht senden: {what}.",
  },
  "answer.refused": {
    en: "The model's provider has refused to answer that. Please ask in another way.",
    de: "Der Anbieter des Modells hat die Antwort darauf verweigert. Bitte anders fragen.",
  },
  "answer.refused_here": {
    en: "The model's provider has ended this answer here.",
    de: "Der Anbieter des Modells hat die Antwort hier beendet.",
  },
  "answer.cut": {
    en: "That would have been too long for one answer. Please ask for less at once.",
    de: "Das wäre für eine Antwort zu lang geworden. Bitte nach weniger auf einmal fragen.",
  },
  "answer.cut_here": {
    en: "This answer was cut off here, as it became too long. Ask me to go on.",
    de: "Die Antwort wurde hier abgeschnitten, weil sie zu lang wurde. Bitte mich, weiterzuschreiben.",
  },
  "answer.blank": {
    en: "Sorry, the model gave me no answer to that. Please ask once more.",
    de: "Entschuldigung, das Modell hat mir darauf keine Antwort gegeben. Bitte noch einmal fragen.",
  },
  "answer.stopped": {
    en: "I have stopped here, as I was going in circles. Please tell me how to go on.",
    de: "Ich habe hier aufgehört, weil ich mich im Kreis gedreht habe. Bitte sag mir, wie es weitergehen soll.",
  },
  "task.done": {
    en: "Background task {task} ({agent}) is done:",
    de: "Die Hintergrundaufgabe {task} ({agent}) ist fertig:",
  },
  "task.failed": {
    en: "Background task {task} ({agent}) has failed.",
    de: "Die Hintergrundaufgabe {task} ({agent}) ist gescheitert.",
  },
  "task.model_failed": {
    en: "Background task {task} ({agent}) has failed: the model did not answer.",
    de: "Die Hintergrundaufgabe {task} ({agent}) ist gescheitert: Das Modell hat nicht geantwortet.",
  },
  "task.timed_out": {
    en: "Background task {task} ({agent}) took too long, so I stopped it.",
    de: "Die Hintergrundaufgabe {task} ({agent}) hat zu lange gedauert, ich habe sie abgebrochen.",
  },
  "task.crashed": {
    en: "I could not get through background task {task} ({agent}) in {times} tries and have given it up.",
    de: "An der Hintergrundaufgabe {task} ({agent}) bin ich {times}-mal gescheitert und habe sie aufgegeben.",
  },
  "task.gone": {
    en: "Background task {task} is given up: {agent} is not set up here any more.",
    de: "Die Hintergrundaufgabe {task} ist aufgegeben: {agent} ist hier nicht mehr eingerichtet.",
  },
  "answer.in_file": {
    en: "The whole answer is in this file.",
    de: "Die ganze Antwort steht in dieser Datei.",
  },
} as const satisfies Record<string, { readonly en: string; readonly de: string }>;

export type SentenceKey = keyof typeof SENTENCES;
export type Language = "en" | "de";

/** A sentence that is still to be said, in whatever language: plain JSON, so that it can be stored with what it is about. */
export type Notice = {
  readonly key: SentenceKey;
  readonly values: Readonly<Record<string, string | number>>;
};

export function say(key: SentenceKey, language: Language = "en", values: Notice["values"] = {}): string {
  return SENTENCES[key][language].replaceAll(/\{(\w+)\}/g, (place, name: string) =>
    String(values[name] ?? place),
  );
}
