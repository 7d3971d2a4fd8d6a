import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LIMITS as TELEGRAM } from "../../channels/telegram/limits.ts";
import { LIMITS as WEB } from "../../channels/web/channel.ts";
import { LIMITS as WHATSAPP } from "../../channels/whatsapp/limits.ts";
import { agentSchema } from "../../src/config/agent-schema.ts";
import { rootSchema } from "../../src/config/schema.ts";

const PAGE = await readFile(join(import.meta.dirname, "../../docs/media.md"), "utf8");
const { media, answers } = rootSchema.parse({ channels: {} });
const { limits } = agentSchema.parse({});

it("docs/media.md names every setting of media and answers with its default", () => {
  const told = Object.fromEntries(
    Array.from(PAGE.matchAll(/`((?:media|answers)\.\w+)(?:: ([^`]+))?`(?=.*\|$)/gm), ([, name, value]) => [
      name,
      value,
    ]),
  );
  const all = Object.keys(rootSchema.shape.answers.unwrap().shape);
  expect(told).toEqual({
    ...Object.fromEntries(Object.entries(media).map(([key, value]) => [`media.${key}`, String(value)])),
    ...Object.fromEntries(
      all.map((key) => {
        const usual = answers[key as keyof typeof answers]; // its own keys
        return [`answers.${key}`, usual === undefined ? undefined : JSON.stringify(usual)];
      }),
    ),
  });
});

it("docs/media.md tells an agent's limits with their defaults", () => {
  const told = Array.from(PAGE.matchAll(/agent: `limits\.(\w+): (\d+)`/g), ([, key, value]) => [
    key,
    Number(value),
  ]);
  expect(Object.fromEntries(told)).toEqual(limits);
});

it("docs/media.md tells the limits of the channels", () => {
  const number = (value: number): string => value.toLocaleString("en");
  const MIB = 1024 ** 2;
  const [telegram, whatsapp, web] = [TELEGRAM, WHATSAPP, WEB];
  expect(PAGE).toContain(
    `Telegram ${number(telegram.textLength)}, WhatsApp ${number(whatsapp.textLength)}, web ${number(web.textLength)} characters`,
  );
  expect(telegram.captionLength).toBe(whatsapp.captionLength);
  expect(PAGE).toContain(
    `Telegram and WhatsApp ${number(telegram.captionLength)}, web ${number(web.captionLength)} characters`,
  );
  expect(PAGE).toContain(
    `Telegram ${telegram.fileBytes / MIB} MiB, WhatsApp ${whatsapp.fileBytes / 1e6} MB, web ${web.fileBytes / MIB / 1024} GiB`,
  );
  const { bytes = 0, sides = 0, ratio = 0 } = telegram.shows.image ?? {};
  expect(PAGE).toContain(
    `${bytes / MIB} MiB, both sides ${number(sides)} px together, one at most ${ratio} times the other`,
  );
  expect(PAGE).toContain(`${(whatsapp.shows.image?.bytes ?? 0) / 1e6} MB, the same sides`);
  expect(whatsapp.shows.image).toMatchObject({ sides, ratio });
  expect([telegram, whatsapp, web].map(({ album }) => album?.size)).toEqual([10, 10, 10]);
});
