import type { McpServer } from "../../core/agent.ts";

type Program = Extract<McpServer, { readonly use: "stdio" }>;

/** What the library hands on from our own environment, whatever it is told; secrets of people stand near `HOME`. */
const HANDED_ON = ["HOME", "LOGNAME", "SHELL", "TERM", "USER"];

/**
 * A shell that becomes the program, with PATH and what the operator gives it in its environment and nothing else. Beside
 * it a watcher looks whether we live: a program that hangs does not hear that its stdin has ended when we are killed.
 */
export function launch({ command, args, env }: Program): {
  readonly command: string;
  readonly args: string[];
} {
  const unset = HANDED_ON.filter((name) => !Object.hasOwn(env, name));
  return {
    command: "/bin/sh",
    args: ["-c", `unset ${unset.join(" ")} PWD OLDPWD\n${WATCHED}`, command, ...args],
  };
}

const WATCHED = `gateway=$PPID
(
  while kill -0 "$gateway"; do kill -0 "$$" || exit; sleep 1 || exit; done
  sleep 2
  kill -9 "$$"
) </dev/null >/dev/null 2>&1 &
exec "$0" "$@"`;
