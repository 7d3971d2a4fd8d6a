/** Those of `SENTENCES` about what may be used. */
export const BUDGET_SENTENCES = {
  "budget.whose_person": { en: "Your budget", de: "Dein Kontingent" },
  "budget.whose_chat": { en: "The budget of this chat", de: "Das Kontingent dieses Chats" },
  "budget.whose_agent": { en: "The budget of {agent}", de: "Das Kontingent von {agent}" },
  "budget.whose_total": { en: "The budget for everybody together", de: "Das Kontingent für alle zusammen" },
  "budget.turns": { en: "{count} turns an hour", de: "{count} Anfragen je Stunde" },
  "budget.tokens": { en: "{count} tokens a day", de: "{count} Token am Tag" },
  "budget.cost": { en: "costs of {count} a month", de: "Kosten von {count} im Monat" },
  "budget.media": { en: "{count} min of sound and video a day", de: "{count} min Ton und Video am Tag" },
  "budget.at_time": { en: "at {time}", de: "um {time} Uhr" },
  "budget.at_date": { en: "on {date} at {time}", de: "am {date} um {time} Uhr" },
  "budget.spent": {
    en: "{whose} is used up: {limit}. It begins anew {when}; please ask again then.",
    de: "{whose} ist aufgebraucht: {limit}. Es beginnt {when} neu; bitte dann noch einmal fragen.",
  },
  "budget.none": { en: "{whose} is none: {limit}.", de: "{whose} ist null: {limit}." },
  "budget.warning": {
    en: "{whose} is used to {percent} %: {limit}. It begins anew {when}.",
    de: "{whose} ist zu {percent} % aufgebraucht: {limit}. Es beginnt {when} neu.",
  },
  "budget.line": {
    en: "{whose}: {used} of {limit}, anew {when}{lifted}",
    de: "{whose}: {used} von {limit}, neu {when}{lifted}",
  },
  "budget.line_lifted": { en: "; lifted until then", de: "; bis dahin aufgehoben" },
  "budget.unbounded": { en: "Nothing is bounded here.", de: "Hier ist nichts begrenzt." },
  "budget.body": { en: "{lines}", de: "{lines}" },
  "budget.lifted_person": {
    en: "The budget of that person stops them no more until it begins anew.",
    de: "Das Kontingent dieser Person hält sie nicht mehr auf, bis es neu beginnt.",
  },
  "budget.lifted_chat": {
    en: "The budget of this chat stops nobody until it begins anew.",
    de: "Das Kontingent dieses Chats hält niemanden auf, bis es neu beginnt.",
  },
  "budget.lifted_agent": {
    en: "The budget of {agent} stops nobody until it begins anew.",
    de: "Das Kontingent von {agent} hält niemanden auf, bis es neu beginnt.",
  },
  "budget.lifted_total": {
    en: "The budget for everybody together stops nobody until it begins anew.",
    de: "Das Kontingent für alle zusammen hält niemanden auf, bis es neu beginnt.",
  },
  "budget.nothing_to_lift": {
    en: "There is no such budget. Answer somebody's message with /budget lift, or write it here for this chat; /budget lift agent and /budget lift all lift those.",
    de: "Ein solches Kontingent gibt es nicht. Antworte mit /budget lift auf jemandes Nachricht, oder schreib es hier für diesen Chat; /budget lift agent und /budget lift all heben jene auf.",
  },
  "command.budget": { en: "How much is used of what may be", de: "Wie viel vom Erlaubten verbraucht ist" },
  "task.budget": {
    en: "I could not finish background task {task} ({agent}): the budget for it is used up.",
    de: "Die Hintergrundaufgabe {task} ({agent}) konnte ich nicht beenden: Das Kontingent dafür ist aufgebraucht.",
  },
  "media.budget_person": {
    en: "I have not listened to {name}: of your {limit} of sound and video a day {left} are left; anew at midnight.",
    de: "{name} habe ich nicht angehört: Von deinen {limit} Ton und Video am Tag sind {left} übrig; neu um Mitternacht.",
  },
  "media.budget_chat": {
    en: "I have not listened to {name}: of this chat's {limit} of sound and video a day {left} are left; anew at midnight.",
    de: "{name} habe ich nicht angehört: Von {limit} Ton und Video am Tag für diesen Chat sind {left} übrig; neu um Mitternacht.",
  },
  "media.budget_agent": {
    en: "I have not listened to {name}: of my {limit} of sound and video a day {left} are left; anew at midnight.",
    de: "{name} habe ich nicht angehört: Von meinen {limit} Ton und Video am Tag sind {left} übrig; neu um Mitternacht.",
  },
  "media.budget_total": {
    en: "I have not listened to {name}: of the {limit} of sound and video a day for everybody {left} are left; anew at midnight.",
    de: "{name} habe ich nicht angehört: Von {limit} Ton und Video am Tag für alle sind {left} übrig; neu um Mitternacht.",
  },
} as const;
