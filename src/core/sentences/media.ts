/** Those of `SENTENCES` that say why an attachment could not be used. */
export const MEDIA_SENTENCES = {
  "media.left_out": { en: "[{name}: {why}]", de: "[{name}: {why}]" },
  "media.empty": {
    en: "I could not use {name}: it is empty.",
    de: "{name} konnte ich nicht verwenden: Es ist nichts darin.",
  },
  "media.too_large": {
    en: "I could not use {name}: it has {size}, and I take at most {limit}.",
    de: "{name} konnte ich nicht verwenden: {size}, und ich nehme höchstens {limit}.",
  },
  "media.too_many_pixels": {
    en: "I could not use {name}: it has {sides} pixels, and I take at most {limit} megapixels.",
    de: "{name} konnte ich nicht verwenden: {sides} Pixel, und ich nehme höchstens {limit} Megapixel.",
  },
  "media.broken": {
    en: "I could not use {name}: it is damaged, or not what it says it is.",
    de: "{name} konnte ich nicht verwenden: Die Datei ist beschädigt oder nicht, was sie zu sein vorgibt.",
  },
  "media.unsupported": {
    en: "I could not use {name}: I do not read files of this kind ({format}).",
    de: "{name} konnte ich nicht verwenden: Dateien dieser Art lese ich nicht ({format}).",
  },
  "media.password": {
    en: "I could not use {name}: it is protected by a password.",
    de: "{name} konnte ich nicht verwenden: Es ist mit einem Passwort geschützt.",
  },
  "media.scan": {
    en: "I could not use {name}: it has no text, only pictures, and those I cannot see here.",
    de: "{name} konnte ich nicht verwenden: Es enthält keinen Text, nur Bilder, und die sehe ich hier nicht.",
  },
  "media.archive": {
    en: "I have not unpacked {name}: of archives I only see what is in them.",
    de: "{name} habe ich nicht ausgepackt: Von Archiven sehe ich nur, was darin ist.",
  },
  "media.undecodable": {
    en: "I could not use {name}: I do not know the encoding of its text.",
    de: "{name} konnte ich nicht verwenden: Die Kodierung des Textes kenne ich nicht.",
  },
  "media.unavailable": {
    en: "I could not use {name}: the download failed. Please send it again.",
    de: "{name} konnte ich nicht verwenden: Das Herunterladen ist gescheitert. Bitte noch einmal senden.",
  },
  "media.too_slow": {
    en: "I could not use {name}: reading it took longer than {seconds} s.",
    de: "{name} konnte ich nicht verwenden: Das Lesen dauerte länger als {seconds} s.",
  },
  "media.voice_empty": {
    en: "I could not use {name}: I heard no words in it.",
    de: "{name} konnte ich nicht verwenden: Ich habe darin keine Worte gehört.",
  },
  "media.voice_too_long": {
    en: "I could not use {name}: it lasts {length}, and I listen to at most {limit}.",
    de: "{name} konnte ich nicht verwenden: {length} lang, und ich höre höchstens {limit}.",
  },
  "media.voice_unavailable": {
    en: "I could not use {name}: listening is not set up here. Please write instead.",
    de: "{name} konnte ich nicht verwenden: Zuhören ist hier nicht eingerichtet. Bitte schreiben.",
  },
  "media.voice_failed": {
    en: "I could not use {name}: writing down what is said failed. Please send it again, or write.",
    de: "{name} konnte ich nicht verwenden: Das Mitschreiben ist gescheitert. Bitte noch einmal senden oder schreiben.",
  },
  "media.voice_unsupported": {
    en: "I could not use {name}: I cannot play sound of this kind ({format}).",
    de: "{name} konnte ich nicht verwenden: Ton dieser Art kann ich nicht abspielen ({format}).",
  },
  "media.video_unsupported": {
    en: "I could not use {name}: I cannot look into videos here.",
    de: "{name} konnte ich nicht verwenden: In Videos kann ich hier nicht hineinsehen.",
  },
  "media.refused_by_model": {
    en: "The model did not take {name}, so I answered without it.",
    de: "{name} hat das Modell nicht angenommen, ich habe ohne geantwortet.",
  },
} as const;
