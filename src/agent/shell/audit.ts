/** What is to be thought of a command before it is run. The sandbox is what holds; this stops what is plainly meant ill. */
export type Audit =
  | { readonly run: true; readonly warnings: readonly string[] }
  | { readonly run: false; readonly why: string };

const MOST_CHARACTERS = 10_000;

export function audit(command: string): Audit {
  if (command.trim() === "") return { run: false, why: "the command is empty" };
  if (command.length > MOST_CHARACTERS)
    return {
      run: false,
      why: `the command has more than ${MOST_CHARACTERS} characters; put it into a script`,
    };
  if (command.includes("\0")) return { run: false, why: "the command holds a NUL" };
  // What is told apart by its whole, such as a pipe into a shell, and what stands behind something harmless.
  const parts = [command, ...command.split(/;|&&|\|\||\n/).map((part) => part.trim())];
  const barred = HIGH_RISK.find(([pattern]) => parts.some((part) => pattern.test(part)));
  if (barred) return { run: false, why: barred[1] };
  const warnings = WARNED.filter(([pattern]) => parts.some((part) => pattern.test(part)));
  return { run: true, warnings: warnings.map(([, words]) => words) };
}

type Rule = readonly [pattern: RegExp, words: string];

const SHELL = String.raw`(?:/\S*/)?(?:sudo\s+)?(?:ba|da|z|k|a)?sh\b`;

const HIGH_RISK: readonly Rule[] = [
  [
    /\brm\s+(?:-\S+\s+)*(?:--no-preserve-root\s+)?(?:-\S+\s+)*["']?\/(?:\*|["']?(?:\s|$))/,
    "it deletes everything",
  ],
  [/\bdd\b[^|]*\b(?:if|of)=\/dev\/(?!null|zero|urandom|random)/, "it reads or writes a device"],
  [/\bmkfs(?:\.\w+)?\b/, "it makes a file system"],
  [/>\s*\/dev\/(?:sd|hd|vd|nvme|mmcblk|mapper)/, "it writes to a device"],
  [/\/etc\/(?:shadow|gshadow|sudoers)\b/, "it is about the passwords of the machine"],
  [/>{1,2}\s*\/etc\//, "it writes to the settings of the machine"],
  [
    new RegExp(String.raw`\b(?:curl|wget|fetch)\b[^|;\n]*\|\s*${SHELL}`),
    "it runs what it loads from somewhere",
  ],
  [/\b(?:source|\.)\s+<\(\s*(?:curl|wget)\b/, "it runs what it loads from somewhere"],
  [/\beval\s+["']?(?:\$\(|`)/, "it runs what another command says"],
  [/\bbase64\s+(?:-d|-D|--decode)\b[^|;\n]*\|/, "it runs or passes on what is disguised"],
  [/\bLD_(?:PRELOAD|LIBRARY_PATH|AUDIT)\s*=/, "it puts other code under programs"],
  [/\/dev\/(?:tcp|udp)\//, "it opens a connection"],
  [/(\S+)\s*\(\)\s*\{[^}]*\1\s*\|\s*\1\s*&/, "it starts itself without end"],
  [/\bnsenter\b|\bunshare\b|\/proc\/\d+\/root\b/, "it looks for a way out of the sandbox"],
];

const WARNED: readonly Rule[] = [
  [/\bchmod\s+(?:-\S+\s+)*(?:0?777|a\+rwx)\b/, "chmod 777 lets everybody write"],
  [
    /\b(?:pip3?|apt|apt-get|npm|yarn|gem|cargo)\s+(?:install|add)\b/,
    "nothing can be installed: there is no network",
  ],
  [/(?:^|\s)(?:sudo|su)(?:\s|$)/, "there is nobody else to be: sudo and su do nothing"],
  [/(?:^|\s)(?:export\s+)?PATH\s*=/, "PATH holds for this command alone"],
];
