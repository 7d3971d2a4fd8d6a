import { renderUnicodeCompact } from "uqr";
import { loadConfig } from "../config/load.ts";
import { faultSentence } from "../config/faults.ts";
import type { PairingStep, PairingWish } from "../core/channel.ts";
import { GatewayError, hasCode } from "../core/errors.ts";
import type { ChannelId } from "../core/identity.ts";
import { durationWords } from "../core/words.ts";
import { originOf } from "../http/guards.ts";
import { connectionIn } from "./connection.ts";
import { EXIT } from "./exit.ts";
import { kinds } from "./kinds.ts";
import { start, type StartOptions } from "./start.ts";

export type LinkOptions = Omit<StartOptions, "up"> & {
  /** Whether what was printed can be drawn over. */
  readonly terminal: boolean;
};

/** Bright on black, whatever the terminal's own colours are: cameras want the dark dots dark. */
const COLOURS = { on: "\u001b[97;40m", off: "\u001b[0m" };

/**
 * Links a connection with an account while a person looks at the terminal: through the gateway that runs, else through one
 * that is started for it and ends with it.
 */
export async function link(options: LinkOptions, id: ChannelId, wish: PairingWish): Promise<number> {
  const { print, stop } = options;
  const loaded = await loadConfig({ ...options, kinds });
  if (!loaded.ok) {
    for (const fault of loaded.faults) print(faultSentence(fault));
    return EXIT.config;
  }
  const { http } = loaded.config;
  const isCluster = loaded.config.cluster !== undefined;
  const gateway = await reach(options, originOf(http.host, http.port), isCluster);
  try {
    const cookie = http.password === undefined ? undefined : await logIn(gateway.origin, http.password, stop);
    const headers = { "content-type": "application/json", ...(cookie === undefined ? {} : { cookie }) };
    const body = JSON.stringify({ connection: id, ...wish });
    const answer = await asked(`${gateway.origin}/connections`, { headers, body, signal: stop });
    if (!answer.ok || !answer.body) {
      print((await answer.text()).trim());
      return EXIT.failed;
    }
    return (await follow(answer.body, options)) ? EXIT.ok : EXIT.failed;
  } catch (thrown) {
    if (stop.aborted) return EXIT.failed;
    throw thrown;
  } finally {
    await gateway.leave();
  }
}

/** Whether this connection is linked by a code. @throws GatewayError "config.invalid" where there is none, or it is off. */
export async function isLinked(options: LinkOptions, id: ChannelId): Promise<boolean> {
  const loaded = await loadConfig({ ...options, kinds });
  if (!loaded.ok) return false;
  const { kind, settings } = await connectionIn(loaded.config, id);
  return kind.links?.(settings) ?? false;
}

type Reached = { readonly origin: string; leave(): Promise<void> };

async function reach(options: LinkOptions, configured: string, isCluster: boolean): Promise<Reached> {
  // Several processes lock no folder: whether one runs, it says itself.
  if (isCluster && (await isThere(configured, options.stop)))
    return { origin: configured, leave: async () => {} };
  const ending = new AbortController();
  options.stop.addEventListener("abort", () => ending.abort(), { once: true });
  const role = isCluster ? ({ role: "channels" } as const) : {};
  const starting = { ...options, ...role, print: () => {}, stop: ending.signal };
  try {
    return await new Promise((resolve, reject) => {
      const running = start({
        ...starting,
        up: (origin) =>
          resolve({
            origin,
            async leave() {
              ending.abort();
              await running;
            },
          }),
      });
      running
        .then(() => reject(new GatewayError("config.invalid", "the gateway ended as soon as it was started")))
        .catch(reject);
    });
  } catch (thrown) {
    // Another process has the data: it is the gateway that runs.
    if (!hasCode(thrown, "data.in_use")) throw thrown;
    return { origin: configured, leave: async () => {} };
  }
}

async function isThere(origin: string, signal: AbortSignal): Promise<boolean> {
  try {
    const answer = await fetch(`${origin}/healthz`, { redirect: "manual", signal });
    await answer.body?.cancel();
    return true;
  } catch {
    return false;
  }
}

/** @throws GatewayError "channel.unreachable". */
async function asked(address: string, more: RequestInit): Promise<Response> {
  try {
    return await fetch(address, { method: "POST", redirect: "manual", ...more });
  } catch (cause) {
    throw new GatewayError(
      "channel.unreachable",
      `the gateway that has the data does not answer at ${new URL(address).origin}; wait until it is ready or has ended, ` +
        "and see that http.port is the one that it was started with",
      { cause },
    );
  }
}

/** What a page that has logged in carries. @throws GatewayError "config.invalid" where it is another password. */
async function logIn(origin: string, password: string, signal: AbortSignal): Promise<string> {
  const answer = await asked(`${origin}/login`, { body: new URLSearchParams({ password }), signal });
  await answer.body?.cancel();
  const cookie = answer.headers.get("set-cookie")?.split(";")[0];
  if (cookie !== undefined) return cookie;
  throw new GatewayError(
    "config.invalid",
    `the gateway that runs does not take the password of perch.yaml (${answer.status}); it has that of its start, so restart it`,
  );
}

/** Shows each step until the last; whether the account is linked. */
async function follow(body: ReadableStream<Uint8Array>, options: LinkOptions): Promise<boolean> {
  let drawn = 0;
  for await (const step of steps(body, options.stop)) {
    const lines = linesOf(step, options.clock.now());
    // The new code stands in the place of the one before.
    if (options.terminal && drawn > 0) options.print(`\u001b[${drawn + 1}A\u001b[0J`);
    for (const line of lines) options.print(line);
    drawn = step.kind === "qr" ? lines.length : 0;
    if (step.kind === "linked") return true;
    if (step.kind === "failed") return false;
  }
  options.print("The gateway ended before the account was linked; try again.");
  return false;
}

function linesOf(step: PairingStep, now: number): readonly string[] {
  switch (step.kind) {
    case "qr":
      return [
        "On the phone: WhatsApp › Settings › Linked devices › Link a device. Scan this:",
        ...renderUnicodeCompact(step.text, { border: 2 })
          .split("\n")
          .map((line) => `${COLOURS.on}${line}${COLOURS.off}`),
        `It holds for ${durationWords((step.until - now) / 1_000)}; the next one comes by itself.`,
      ];
    case "code":
      return [
        "On the phone: WhatsApp › Settings › Linked devices › Link a device › Link with phone number instead.",
        `Type this code: ${step.code.slice(0, 4)}-${step.code.slice(4)}`,
      ];
    case "agreed":
      return ["The phone has agreed; one moment."];
    case "linked":
      return ["Linked. It answers from now on, while Perch runs."];
    case "failed":
      return [step.why];
  }
}

/** Ends where the gateway does, however that comes. */
async function* steps(body: ReadableStream<Uint8Array>, stop: AbortSignal): AsyncIterable<PairingStep> {
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for await (const chunk of body) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) yield JSON.parse(line) as PairingStep; // what /connections streams
    }
  } catch (thrown) {
    if (stop.aborted) throw thrown;
  }
}
