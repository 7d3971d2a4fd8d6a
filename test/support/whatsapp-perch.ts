import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { guardConsole } from "../../channels/whatsapp/baileys/life/console-guard.ts";
import type { PairingStep } from "../../src/core/channel.ts";
import { type Clock, scaledClock } from "../../src/core/clock.ts";
import { startOpenAi } from "./models/openai.ts";
import type { ModelServer, Reply } from "./models/server.ts";
import { type OperatorFolder, operatorFolder, type Running, spawnPerch, watched } from "./perch-process.ts";
import type { Group } from "./whatsapp/group.ts";
import type { LinkedDevice } from "./whatsapp/linked-device.ts";
import { type LoopbackWhatsApp, startWhatsApp } from "./whatsapp/loopback.ts";
import type { Person } from "./whatsapp/person.ts";

/** A WhatsApp on this machine, an operator's files and a model, on one clock; Perch is started by the test. */
export type WhatsAppWorld = {
  readonly wa: LoopbackWhatsApp;
  readonly model: ModelServer;
  readonly clock: Clock;
  readonly folder: OperatorFolder;
  /** Whose account Perch is a linked device of. */
  readonly owner: Person;
  /** All of whom may talk with it alone. */
  readonly people: readonly Person[];
  /** Of three others each, who may talk with it there. */
  readonly groups: readonly Group[];
  /** Starts Perch and waits until it says that it is ready. */
  start(env?: Readonly<Record<string, string>>): Promise<Running>;
  /** As `start`, without the wait. */
  spawn(env?: Readonly<Record<string, string>>): Running;
  /** Runs one command of Perch beside it; gives what it printed. */
  perch(...words: readonly string[]): Promise<string>;
  /** Links the account as somebody does who opens its page: scans, or types the code that is shown for the number. */
  link(perch: Running, how?: LinkOptions): Promise<LinkedDevice>;
  close(): Promise<void>;
};

type LinkOptions = {
  /** Begins with "+"; without it a QR code is shown. */
  readonly phone?: string;
  /** Is told each step. */
  readonly heard?: (step: PairingStep) => void;
};

export type WhatsAppWorldOptions = {
  readonly people: number;
  readonly groups: number;
  /** What seals the account's keys; "" for none. */
  readonly stateKey?: string;
  /** What the model says; the person's last text by default. */
  readonly says?: Reply;
  /** How many times as fast as real time all of it runs. */
  readonly rate?: number;
  /** What the agent may send, by name. */
  readonly assets?: Readonly<Record<string, Uint8Array>>;
  /** Loaded before Perch: paths of modules. */
  readonly preload?: readonly string[];
  /** More arguments of Node.js. */
  readonly node?: readonly string[];
};

const TRUST = join(import.meta.dirname, "whatsapp/trust-preload.mjs");
const STATE_KEY = "a key for tests only, of 32 characters";
/** Windows and waits are most of a test. */
const RATE = 4;
const IN_GROUP = 3;

export async function whatsappWorld(options: WhatsAppWorldOptions): Promise<WhatsAppWorld> {
  guardConsole(); // the library's Signal prints keys, at the phones' end as at Perch's
  const begun = Date.now();
  const rate = options.rate ?? RATE;
  const clock = scaledClock(rate, begun);
  const wa = await startWhatsApp();
  const model = await startOpenAi({ clock, ...(options.says ? { otherwise: options.says } : {}) });
  const add = (number: number): Promise<Person> =>
    wa.addPerson({
      phone: String(15_550_000_000 + number),
      lid: String(90_000_000_000_000 + number),
      name: `Person ${number}`,
    });
  const owner = await add(1);
  const people = await Promise.all(Array.from({ length: options.people }, (_, n) => add(101 + n)));
  const groups: Group[] = [];
  const members: Person[] = [];
  for (let n = 0; n < options.groups; n += 1) {
    const some = await Promise.all(Array.from({ length: IN_GROUP }, (_, m) => add(501 + n * IN_GROUP + m)));
    members.push(...some);
    groups.push(wa.addGroup({ subject: `Circle ${n}`, members: [owner, ...some] }));
  }
  const { stateKey = STATE_KEY } = options;
  const folder = await operatorFolder({
    "config/perch.yaml": JSON.stringify({
      channels: {
        // Where accounts are linked is told with its address.
        web: { kind: "web" },
        wa: {
          kind: "whatsapp",
          ...(stateKey === "" ? {} : { stateKey }),
          testServer: { url: wa.url, ca: wa.ca },
          chatSeconds: 0,
          perMinute: 100_000,
          owner: phoneOf(owner),
          allow: [...people, ...members].map(phoneOf),
        },
      },
      http: { port: 0 },
    }),
    "config/agents/helper.md": [
      `---\nmodel: openai:test\nbaseUrl: ${model.url}\napiKey: \${KEY}\n`,
      options.assets ? "assets: assets\n" : "",
      "---\nBe brief.\n",
    ].join(""),
  });
  for (const [name, bytes] of Object.entries(options.assets ?? {}))
    await folder.write(`config/agents/assets/${name}`, bytes);
  const running = new Set<Running>();
  const environment = { KEY: "none", PERCH_CLOCK: `${rate}@${begun}`, WA_TEST_ROOT: wa.rootKeyHex };

  const spawn = (env: Readonly<Record<string, string>> = {}): Running => {
    const preloads = [TRUST, ...(options.preload ?? [])];
    const perch = watched(
      spawnPerch({
        folder: folder.path,
        env: { ...environment, ...env },
        node: [
          ...(options.node ?? []),
          ...preloads.flatMap((path) => ["--import", pathToFileURL(path).href]),
        ],
      }),
    );
    running.add(perch);
    void perch.ended.then(() => running.delete(perch));
    return perch;
  };
  return {
    wa,
    model,
    clock,
    folder,
    owner,
    people,
    groups,
    spawn,
    async start(env) {
      const perch = spawn(env);
      await perch.said(/Perch is ready\..*\n/);
      return perch;
    },
    async perch(...words) {
      const { ended, output } = spawnPerch({ folder: folder.path, env: environment, args: words });
      await ended;
      return output();
    },
    async link(perch, { phone, heard = () => {} } = {}) {
      const [origin = ""] = await perch.said(/http:\/\/[\w.:[\]]+/);
      let device: LinkedDevice | undefined;
      for await (const step of pairing(origin, phone)) {
        heard(step);
        if (step.kind === "qr") device = await wa.scan(owner, step.text);
        if (step.kind === "code") device = await wa.typeCode(step.code);
        if (step.kind === "failed") throw new Error(step.why);
      }
      if (!device) throw new Error("no code was shown");
      return device;
    },
    async close() {
      await Promise.all([...running].map((perch) => perch.kill()));
      await wa.close();
      await model.close();
      await folder.remove();
    },
  };
}

/** "+15550000001" */
export function phoneOf({ phone }: Person): string {
  return `+${phone.split("@")[0]}`;
}

async function* pairing(origin: string, phone: string | undefined): AsyncGenerator<PairingStep> {
  const answer = await fetch(`${origin}/connections`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ connection: "wa", phone }),
  });
  if (!answer.ok || !answer.body) throw new Error(`Perch does not link: ${await answer.text()}`);
  let rest = "";
  for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line) as PairingStep; // what /connections streams
  }
}
