/** Those of `SENTENCES` about questions to people and their answers. */
export const APPROVAL_SENTENCES = {
  "approval.asks": { en: "May {agent} run {tool}?", de: "Darf {agent} {tool} ausführen?" },
  "approval.asks_for": {
    en: "{name} is waiting: may {agent} run {tool} for them?",
    de: "{name} wartet: Darf {agent} dafür {tool} ausführen?",
  },
  "approval.no_arguments": { en: "(no arguments)", de: "(ohne Argumente)" },
  "approval.by_owner": { en: "the owner", de: "der Besitzer" },
  "approval.by_asker": { en: "{name}", de: "{name}" },
  "approval.by_anyone": { en: "everybody here", de: "jeder hier" },
  "approval.by_addressee": { en: "whoever was asked", de: "wer gefragt wurde" },
  "approval.how": {
    en: "May answer: {who}, until {until}. A button, 👍 or 👎 here, or a reply of yes or no.",
    de: "Antworten darf: {who}, bis {until}. Mit einem Knopf, 👍 oder 👎 hieran oder ja oder nein als Antwort.",
  },
  "approval.how_in_words": {
    en: "May answer: {who}, until {until}. With yes or no, best as a reply to this, or 👍 or 👎 here.",
    de: "Antworten darf: {who}, bis {until}. Mit ja oder nein, am besten als Antwort hierauf, oder 👍 oder 👎 hieran.",
  },
  "approval.allow": { en: "Allow", de: "Erlauben" },
  "approval.refuse": { en: "Refuse", de: "Ablehnen" },
  "approval.allowed": { en: "✓ allowed by {name}", de: "✓ erlaubt von {name}" },
  "approval.refused": { en: "✗ refused by {name}", de: "✗ abgelehnt von {name}" },
  "pending.none": { en: "Nothing waits for an answer here.", de: "Hier wartet nichts auf eine Antwort." },
  "pending.body": { en: "Waiting for an answer:\n{lines}", de: "Auf eine Antwort warten:\n{lines}" },
  "pending.call": {
    en: "• {tool}, for {who}, until {until}",
    de: "• {tool}, auf {who}, bis {until}",
  },
  "pending.question": {
    en: "• a question of the agent, for {who}, until {until}",
    de: "• eine Frage des Agenten, auf {who}, bis {until}",
  },
} as const;
