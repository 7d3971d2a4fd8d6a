/** Those of `SENTENCES` that end a turn, or stand in the place of its answer. */
export const TURN_SENTENCES = {
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
  "turn.model_refused": {
    en: "The model's provider does not let it answer that. Please ask in another way.",
    de: "Der Anbieter des Modells lässt es darauf nicht antworten. Bitte anders fragen.",
  },
  "turn.model_overflow": {
    en: "That is more than the model can read at once. Please send less, or begin anew with /new.",
    de: "Das ist mehr, als das Modell auf einmal lesen kann. Bitte weniger senden oder mit /new neu anfangen.",
  },
  "turn.model_key": {
    en: "Sorry, the model does not accept my key. Whoever runs me has to look at it.",
    de: "Entschuldigung, das Modell nimmt meinen Schlüssel nicht an. Das muss ansehen, wer mich betreibt.",
  },
  "turn.model_quota": {
    en: "Sorry, what I may use of the model is used up. Whoever runs me has to look at its account.",
    de: "Entschuldigung, mein Guthaben beim Modell ist aufgebraucht. Das muss ansehen, wer mich betreibt.",
  },
  "turn.model_rate": {
    en: "Sorry, the model gets too many questions right now. Please try again in a minute.",
    de: "Entschuldigung, das Modell bekommt gerade zu viele Fragen. Bitte in einer Minute noch einmal versuchen.",
  },
  "turn.model_busy": {
    en: "Sorry, the model has trouble of its own right now. Please try again in a few minutes.",
    de: "Entschuldigung, das Modell hat gerade selbst eine Störung. Bitte in ein paar Minuten noch einmal versuchen.",
  },
  "turn.model_broken": {
    en: "Sorry, I could not reach the model. Please try again in a few minutes.",
    de: "Entschuldigung, ich konnte das Modell nicht erreichen. Bitte in ein paar Minuten noch einmal versuchen.",
  },
  "turn.model_unknown": {
    en: "Sorry, my model is not set up rightly. Whoever runs me has to look at it.",
    de: "Entschuldigung, mein Modell ist nicht richtig eingerichtet. Das muss ansehen, wer mich betreibt.",
  },
  "turn.empty": {
    en: "I have nothing to say to that.",
    de: "Dazu habe ich nichts zu sagen.",
  },
  "turn.too_many_steps": {
    en: "Sorry, this took more steps than I may take, so I stopped. Please try a smaller one.",
    de: "Entschuldigung, das brauchte mehr Schritte, als ich machen darf. Bitte in kleineren Schritten.",
  },
  "turn.stopped": { en: "Stopped.", de: "Gestoppt." },
  "agent.asks": {
    en: "I need a word from you to go on.",
    de: "Ich brauche ein Wort von dir, um weiterzumachen.",
  },
  "turn.dead": {
    en: "Sorry, I could not get through a message of yours after three tries and have set it aside.",
    de: "Entschuldigung, an einer Nachricht bin ich dreimal gescheitert und habe sie beiseitegelegt.",
  },
  "turn.nothing_to_stop": { en: "Nothing is running.", de: "Es läuft gerade nichts." },
} as const;
