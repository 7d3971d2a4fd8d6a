import { describe, expect, it } from "vitest";
import { languageOf } from "../../src/core/language.ts";

describe("telling a language by its frequent words", () => {
  it.each([
    ["Hallo, kannst du mir bitte helfen?", "de"],
    ["Wie ist das Wetter heute?", "de"],
    ["Was soll das?", "de"],
    ["Danke!", "de"],
    ["Schöne Grüße", "de"],
    ["ja", "de"],
    ["Can you help me with this?", "en"],
    ["what's the time in Tokyo", "en"],
    ["Thanks!", "en"],
    ["don’t do that", "en"],
    ["The Hamburg office, please", "en"],
    // Mixed: what there is more of.
    ["Kannst du mir den Pull Request bitte reviewen? The build is rot", "de"],
    ["Please translate 'Guten Morgen' for me, and tell me what it is", "en"],
  ] as const)("takes %j for %s", (text, language) => {
    expect(languageOf([text], language === "de" ? "en" : "de")).toBe(language);
  });

  it.each([[""], ["ok"], ["👍"], ["12:30"], ["Kubernetes"], ["/new"], ["Привет, как дела?"], ["Bonjour"]])(
    "does not decide by %j",
    (text) => {
      expect(languageOf([text], "de")).toBe("de");
      expect(languageOf([text], "en")).toBe("en");
      expect(languageOf([text])).toBe("en");
    },
  );

  it("counts all that was said, and nothing of a long text but its beginning", () => {
    expect(languageOf(["ok", "und du?"])).toBe("de");
    expect(languageOf([`und ${"x ".repeat(3_000)} the the the`])).toBe("de");
  });
});
