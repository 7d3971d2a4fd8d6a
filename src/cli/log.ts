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

/** An error as its name, code and sentence, and those of its causes; a stack only where the error is not one of ours. */
function plainly(value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  const code = (value as { code?: unknown }).code; // errors of Node and ours carry one
  const cause = value.cause === undefined ? undefined : plainly(value.cause);
  return {
    name: value.name,
    ...(code === undefined ? {} : { code }),
    message: value.message,
    ...(cause === undefined ? {} : { cause }),
    ...(value.name === "GatewayError" ? {} : { stack: value.stack?.split("\n").slice(1, 5).join(" |") }),
  };
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
