#!/usr/bin/env node
import { parseArgs } from "node:util";
import { createLog } from "./cli/log.ts";
import { EXIT } from "./cli/exit.ts";
import { type Clock, scaledClock, systemClock } from "./core/clock.ts";
import { asError, GatewayError, hasCode } from "./core/errors.ts";
import { type Role, ROLES } from "./core/role.ts";

const USAGE = `perch [start]               run the gateway
perch start --role <role> [--port <port>]
                            run one of several processes: channels, workers or web
perch check [--live]        check the configuration and print who answers where;
                            with --live also ask the platforms whether the connections can work
perch why <message>         what became of a message, step by step
perch people [revoke <channel> <person>]
                            what was granted and refused in chat
perch pair [<channel> <code>]
                            who asks to be let in; with the code they were given, let them in
perch pair <connection> [--phone +15551234567]
                            link a WhatsApp connection: a QR code, or with --phone a code to type there
perch backup <connection> <file>
                            write what a connection needs to be itself on another machine
perch restore <connection> <file>
                            put a backup in the place of a connection's account; the gateway must not run
perch queue [retry <number>]
                            what waits, and messages that were set aside
perch schedules             what is done at a time, and what became of the last time
perch schema                print the JSON Schema of perch.yaml

--config <file>             instead of config/perch.yaml`;

process.exitCode = await main();

async function main(): Promise<number> {
  const clock = clockOf(process.env["PERCH_CLOCK"]);
  const log = createLog({
    level: process.env["PERCH_LOG"] ?? "info",
    readable: process.stderr.isTTY,
    now: () => clock.now(),
    write: (line) => process.stderr.write(line),
  });
  // A library's stray rejection must not end every chat; it is told of, and the turn it belongs to has its own deadline.
  process.on("unhandledRejection", (err) => log.error({ err }, "a promise was rejected and nobody looked"));
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        config: { type: "string" },
        help: { type: "boolean", short: "h" },
        live: { type: "boolean", default: false },
        phone: { type: "string" },
        port: { type: "string" },
        role: { type: "string" },
      },
    });
    const [command = "start", ...words] = positionals;
    const common = {
      folder: process.cwd(),
      env: process.env,
      clock,
      log,
      print: (line: string) => void process.stdout.write(`${line}\n`),
      ...(values.config === undefined ? {} : { file: values.config }),
    };
    if (values.help) {
      common.print(USAGE);
      return EXIT.ok;
    }
    // Each command is loaded when it is asked for, so that none pays for the others.
    switch (command) {
      case "start":
        // A graph that does not heed its signal must not keep the process: the data folder is free for the next one.
        return process.exit(
          await (
            await import("./cli/start.ts")
          ).start({ ...common, ...ofSeveral(values), stop: stopSignal() }),
        );
      case "check":
        return await (await import("./cli/check.ts")).check({ ...common, live: values.live });
      case "why":
        return await (await import("./cli/why.ts")).why(common, words);
      case "people":
        return await (await import("./cli/people.ts")).people(common, words);
      case "pair":
        // A gateway that was started for it may leave a library's timer behind.
        return process.exit(
          await (
            await import("./cli/pair.ts")
          ).pair(
            { ...common, stop: stopSignal(), terminal: process.stdout.isTTY, ...given(values.phone) },
            words,
          ),
        );
      case "backup":
        return await (await import("./cli/backup.ts")).backup(common, words);
      case "restore":
        return await (await import("./cli/backup.ts")).restore(common, words);
      case "queue":
        return await (await import("./cli/queue.ts")).queue(common, words);
      case "schedules":
        return await (await import("./cli/schedules.ts")).schedules(common);
      case "schema":
        return await (await import("./cli/schema.ts")).schema(common);
      default:
        common.print(`There is no command "${command}".\n\n${USAGE}`);
        return EXIT.failed;
    }
  } catch (thrown) {
    const error = asError(thrown);
    const isOption = isOptionFault(error);
    const known = error instanceof GatewayError ? `${error.message}.\n` : `${error.stack ?? error.message}\n`;
    const words = isOption ? `${error.message}\n\n${USAGE}\n` : known;
    await new Promise((resolve) => process.stderr.write(words, resolve));
    // What was open by then, a connection to Redis for one, would keep a process that could not start.
    return process.exit(!isOption && hasCode(error, "config.invalid") ? EXIT.config : EXIT.failed);
  }
}

/** How a process is one of several. @throws GatewayError "config.invalid". */
function ofSeveral({ role, port }: { role?: string | undefined; port?: string | undefined }): {
  readonly role?: Role;
  readonly port?: number;
} {
  const known = ROLES.find((each) => each === role);
  if (role !== undefined && known === undefined)
    throw new GatewayError("config.invalid", `there is no role "${role}"; write one of: ${ROLES.join(", ")}`);
  if (port !== undefined && (!/^\d{1,5}$/.test(port) || Number(port) > 65_535))
    throw new GatewayError("config.invalid", `"${port}" is no port; write a number of 0 to 65535`);
  return {
    ...(known === undefined ? {} : { role: known }),
    ...(port === undefined ? {} : { port: Number(port) }),
  };
}

function given(phone: string | undefined): { readonly phone?: string } {
  return phone === undefined ? {} : { phone };
}

/** What parseArgs says of an option that there is not; its sentence names it. */
function isOptionFault(error: Error): boolean {
  return "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS_");
}

/** The first signal asks for a gentle end; a second one ends the process at once. */
function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(EXIT.failed);
      controller.abort();
    });
  }
  return controller.signal;
}

/** "<rate>@<epoch ms>" for tests that span processes; the machine's own time otherwise. */
function clockOf(setting: string | undefined): Clock {
  const [, rate, origin] = /^(\d+(?:\.\d+)?)@(\d+)$/.exec(setting ?? "") ?? [];
  return rate === undefined ? systemClock : scaledClock(Number(rate), Number(origin));
}
