import type { Log, LogFields } from "../core/log.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const;
type Level = (typeof LEVELS)[number];

/** One JSON object a line; for a terminal, one readable line. `write` gets whole lines. */
export function createLog(options: {
  readonly level: string;
  readonly readable: boolean;
  readonly now: () => number;
  readonly write: (line: string) => void;
}): Log {
  const least = Math.max(LEVELS.indexOf(options.level as Level), 0); // an unknown level shows everything
  return build({});

  function build(always: LogFields): Log {
    const at =
      (level: Level) =>
      (fields: LogFields, sentence: string): void => {
        if (LEVELS.indexOf(level) < least) return;
        const all = { ...always, ...fields };
        options.write(
          redacted(options.readable ? readable(level, all, sentence) : json(level, all, sentence)),
        );
      };
    return {
      debug: at("debug"),
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      with: (fields) => build({ ...always, ...fields }),
    };
  }

  function json(level: Level, fields: LogFields, sentence: string): string {
    const plain = Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, plainly(value)]));
    return `${JSON.stringify({ at: new Date(options.now()).toISOString(), level, ...plain, msg: sentence })}\n`;
  }

  function readable(level: Level, fields: LogFields, sentence: string): string {
    const time = new Date(options.now()).toISOString().slice(11, 19);
    const rest = Object.entries(fields).map(([key, value]) => {
      const plain = plainly(value);
      return ` ${key}=${typeof plain === "string" ? plain : JSON.stringify(plain)}`;
    });
    return `${time} ${level} ${sentence}${rest.join("")}\n`;
  }
}

/**
 * An error as its name, code and sentence, and those of its causes; a stack only where the error is not one of ours.
 * `foreign` errors, those behind a failed model or graph and those of HTTP clients, lose their sentence: providers and
 * graphs quote what they were sent, the key included.
 */
function plainly(value: unknown, foreign = false): unknown {
  if (!(value instanceof Error)) return value;
  const { code, status } = value as { code?: unknown; status?: unknown }; // errors of Node, of clients and ours carry them
  const ours = value.name === "GatewayError";
  const quotes = !ours && (foreign || typeof status === "number");
  const cause =
    value.cause === undefined ? undefined : plainly(value.cause, quotes || code === "model.failed");
  return {
    name: value.name,
    ...(code === undefined ? {} : { code }),
    ...(quotes && status !== undefined ? { status } : {}),
    message: quotes ? "left out, for it may quote messages and keys" : value.message,
    ...(cause === undefined ? {} : { cause }),
    ...(ours ? {} : { stack: frames(value.stack) }),
  };
}

/** The first places of a stack, without the sentence above them, which may have many lines. */
function frames(stack = ""): string {
  const lines = stack.split("\n").filter((line) => /^ +at /.test(line));
  return lines.slice(0, 4).join(" |");
}

/**
 * The last guard: what looks like a token never leaves the process, whoever put it into an error. Bot tokens as the
 * Bot API makes them, and the keys of model providers.
 */
function redacted(line: string): string {
  return line
    .replaceAll(/\d{5,}:[\w-]{30,}/g, "<token>")
    .replaceAll(/\b(sk|pk|gsk|xai|AIza)[-_]?[\w-]{20,}/g, "<key>");
}
