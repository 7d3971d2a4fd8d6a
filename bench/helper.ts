import { type ChildProcess, fork } from "node:child_process";

/** What a helper process can be asked, by name. What is said both ways is plain JSON. */
export type Questions = { readonly [name: string]: (about: never) => Promise<unknown> };

type Asked = { readonly id: number; readonly name: string; readonly about: unknown };
type Answered = { readonly id: number; readonly result?: unknown; readonly error?: string };

/** In the helper process: answers until whoever started it goes away. */
export function answer(questions: Questions): void {
  process.on("message", (asked: Asked) => {
    const ask = questions[asked.name] as (about: unknown) => Promise<unknown>; // `Helper.ask` took the name from there
    ask(asked.about).then(
      (result) => process.send?.({ id: asked.id, result } satisfies Answered),
      (error: unknown) => process.send?.({ id: asked.id, error: String(error) } satisfies Answered),
    );
  });
  process.on("disconnect", () => process.exit());
}

/** A process beside the measured ones, so that what it does is not counted as theirs. */
export class Helper<Asks extends Questions> {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (answered: Answered) => void>();
  #asked = 0;

  constructor(file: string) {
    this.#child = fork(file, { env: { PATH: process.env["PATH"] }, execArgv: [] });
    this.#child.on("message", (answered: Answered) => this.#waiting.get(answered.id)?.(answered));
    this.#child.on("exit", (code) => {
      for (const [id, give] of this.#waiting) give({ id, error: `${file} ended with code ${code}` });
    });
  }

  get pid(): number {
    return this.#child.pid ?? NaN; // it was started
  }

  async ask<Name extends keyof Asks & string>(
    name: Name,
    ...[about]: Parameters<Asks[Name]>
  ): Promise<Awaited<ReturnType<Asks[Name]>>> {
    const id = (this.#asked += 1);
    const { result, error } = await new Promise<Answered>((resolve) => {
      this.#waiting.set(id, resolve);
      this.#child.send({ id, name, about } satisfies Asked);
    });
    this.#waiting.delete(id);
    if (error !== undefined) throw new Error(error);
    return result as Awaited<ReturnType<Asks[Name]>>; // what the function of that name gave, as JSON
  }

  /** Also when it has ended by itself. */
  end(): void {
    if (this.#child.connected) this.#child.disconnect();
  }
}
