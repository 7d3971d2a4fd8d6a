import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import type { PairingStep } from "../../src/core/channel.ts";
import type { Person } from "../support/whatsapp/person.ts";
import { accountKeys } from "../support/whatsapp/account-keys.ts";
import { scanFor } from "../support/whatsapp/secret-scan.ts";
import { phoneOf, type WhatsAppWorld, whatsappWorld } from "../support/whatsapp-perch.ts";

const PHOTO = join(import.meta.dirname, "../fixtures/media/photo.jpg");
const STATE_KEY = "a key for this test, of 32 characters";

let at: WhatsAppWorld;
afterEach(() => at.close());

/** What linking shows, which is the account for whoever sees it: whole, and its parts that are secret by themselves. */
class Shown {
  readonly texts: string[] = [];

  readonly see = (step: PairingStep): void => {
    if (step.kind === "code") this.texts.push(step.code);
    if (step.kind !== "qr") return;
    const [reference = "", , , secret = ""] = (step.text.split("#").pop() ?? "").split(",");
    this.texts.push(step.text, reference, secret);
  };
}

function dataFolder(): string {
  return join(at.folder.path, "data");
}

/** Which of these stand in a file of the data folder, each with the file. */
async function inDataFolder(
  keys: ReadonlyMap<string, Uint8Array>,
  texts: readonly string[],
): Promise<readonly string[]> {
  const files = await readdir(dataFolder(), { recursive: true, withFileTypes: true });
  const scan = scanFor(keys);
  const found = files
    .filter((file) => file.isFile())
    .map(async ({ parentPath, name }) => {
      const bytes = await readFile(join(parentPath, name));
      const shown = texts.filter((text) => bytes.includes(text));
      return [...scan(bytes), ...shown].map((secret) => `${name}: ${secret}`);
    });
  return (await Promise.all(found)).flat();
}

/** The phone numbers and the other names of everybody, as they could stand anywhere. */
function namesOf(people: readonly Person[]): readonly string[] {
  return people.flatMap(({ phone, lid, name }) => [phone.split("@")[0] ?? "", lid.split("@")[0] ?? "", name]);
}

it("nothing that Perch prints or logs holds a key, a QR code, a number or a word of anybody, and its data folder no key", async () => {
  at = await whatsappWorld({
    people: 2,
    groups: 1,
    stateKey: STATE_KEY,
    assets: { "chart.jpg": await readFile(PHOTO) },
  });
  const { wa, model, owner, groups, people } = at;
  const [bob, mallory] = people;
  const [group] = groups;
  const carol = [...(group?.members ?? [])].find((member) => member !== owner);
  if (!bob || !mallory || !group || !carol) throw new Error("somebody is missing");
  const env = { PERCH_LOG: "debug" };
  const shown = new Shown();
  const keys = new Map<string, Uint8Array>();
  const noteKeys = async (): Promise<void> => {
    for (const [place, key] of await accountKeys(dataFolder(), STATE_KEY))
      keys.set(`${place} ${createHash("sha256").update(key).digest("hex").slice(0, 8)}`, key);
  };
  const found: string[] = [];
  const scanFolder = async (): Promise<void> => {
    await noteKeys();
    found.push(...(await inDataFolder(keys, shown.texts)));
  };
  const answered = async (who: Person, say: () => Promise<unknown>): Promise<void> => {
    const before = who.inbox.length;
    await say();
    await wa.waitForMessages(before + 1, ({ person }) => person === who);
  };
  const photo = async (): Promise<object> => ({
    ...(await wa.media.put(await readFile(PHOTO), "image")),
    mimetype: "image/jpeg",
  });

  const first = await at.start(env);
  const device = await at.link(first, { heard: shown.see });
  await noteKeys();
  await answered(bob, () => bob.say(device, "marmalade one"));
  model.reply("![marmalade in a jar](chart.jpg)");
  await answered(bob, async () =>
    bob.say(device, { imageMessage: { ...(await photo()), caption: "marmalade two" } }),
  );
  const mention = {
    text: `@${owner.lid.split("@")[0]} marmalade three`,
    contextInfo: { mentionedJid: [owner.lid] },
  };
  await answered(carol, () => carol.say(device, { extendedTextMessage: mention }, { group }));
  await noteKeys();
  // What cannot be read at first, what the model and WhatsApp refuse, and a connection that breaks.
  await answered(bob, () => bob.say(device, "marmalade four", { corrupt: "once" }));
  model.reply({ fault: "status", status: 401, message: "cannot take marmalade" });
  await answered(bob, () => bob.say(device, "marmalade five"));
  wa.faults.messages.add({ kind: "reject", error: 479 });
  await answered(bob, () => bob.say(device, "marmalade six"));
  wa.faults.downloads.add({ kind: "tampered" }, { times: 9 });
  await answered(bob, async () =>
    bob.say(device, { imageMessage: { ...(await photo()), caption: "marmalade seven" } }),
  );
  wa.cut();
  await answered(bob, () => bob.say(device, "marmalade eight"));
  // It is killed as it sends, and started again.
  wa.faults.messages.add({ kind: "cut", when: "after" }, { when: () => (first.signal("SIGKILL"), true) });
  await bob.say(device, "marmalade nine");
  await first.ended;
  await scanFolder();
  const second = await at.start(env);
  await answered(bob, () => bob.say(device, "marmalade ten"));
  await noteKeys();
  const everything = [first.output(), await at.perch("why"), await at.perch("queue")];
  wa.unlink(device);
  await second.said(/"the connection is not linked/);
  await at.link(second, { phone: phoneOf(owner), heard: shown.see });
  await scanFolder();
  expect(await second.stop()).toBe(0);
  everything.push(second.output());

  expect(keys.size).toBeGreaterThan(800);
  expect(found).toEqual([]);
  const words = ["marmalade", "Circle", ...shown.texts, ...namesOf([owner, bob, mallory, ...group.members])];
  const leaks = everything.flatMap((text) =>
    text.split("\n").filter((line) => words.some((word) => line.includes(word))),
  );
  expect(leaks).toEqual([]);
  expect(scanFor(keys)(Buffer.from(everything.join("")))).toEqual([]);
}, 240_000);

it("the scan finds the keys of an account that nothing seals", async () => {
  at = await whatsappWorld({ people: 1, groups: 0, stateKey: "" });
  const perch = await at.start();
  await at.link(perch);
  const keys = await accountKeys(dataFolder(), undefined);
  const found = await inDataFolder(keys, []);
  for (const name of ["noiseKey.private", "signedIdentityKey.private", "advSecretKey"])
    expect(found.join("\n")).toContain(`auth/creds.${name}`);
  expect(await perch.stop()).toBe(0);
}, 60_000);
