import type { BaseMessage } from "@langchain/core/messages";
import type { BlobRef } from "../../core/blocks.ts";
import { perchContent, withRefused } from "../messages.ts";
import { isOverflow, picturesTaken, refusesContent } from "./errors.ts";
import type { Showing } from "./medium.ts";
import { guesses, namedIn, unseenKind } from "./refusal.ts";
import type { Shapes } from "./shapes.ts";
import { type Shown, showMedia, type ShowLimits } from "./show.ts";

export type Asking = Pick<Showing, "blobs" | "paths" | "shapes"> & {
  readonly limits: ShowLimits;
  /** Names the model in what is remembered of it. */
  readonly key: string;
  /** Kinds that the model has said it does not take at all; as long as it is loaded it is not asked again. */
  readonly unseen: Set<Shown["kind"]>;
  /** How many pictures it has said that it takes at once; likewise. */
  readonly most: { pictures?: number };
};

/** Requests after one that was refused; most providers name the file, and the first of them is taken. */
const MORE_TRIES = 4;

/**
 * Asks with the media of the last turns in it. What the model refuses is left out and the question asked again, so that
 * no file can spoil a thread; `marked` are the messages with what was refused of them, for the thread to keep.
 */
export async function askWithMedia<Answer>(
  kept: readonly BaseMessage[],
  asking: Asking,
  ask: (messages: readonly BaseMessage[]) => Promise<Answer>,
): Promise<{ readonly answer: Answer; readonly marked: readonly BaseMessage[] }> {
  const { key, unseen, shapes } = asking;
  const limits: ShowLimits = { ...asking.limits, ...asking.most };
  const refused = new Set(kept.flatMap((message) => perchContent(message)?.refused?.[key] ?? []));
  const show = (left: readonly Shown[], as: { shapes: Shapes; limits: ShowLimits } = { shapes, limits }) => {
    const out = new Set(left.map(({ blob }) => blob));
    return showMedia(kept, as.limits, {
      ...asking,
      shapes: as.shapes,
      hidden: (blob, kind) => {
        const hide = refused.has(blob) || unseen.has(kind) || out.has(blob);
        if (hide) hidden.add(blob);
        return hide;
      },
    });
  };
  let hidden = new Set<BlobRef>();

  const first = await show([]);
  try {
    return done(await ask(first.messages));
  } catch (thrown) {
    if (first.shown.length > 0 && isOverflow(thrown)) return await lighter(thrown);
    if (picturesIn(first.shown) > 1 && picturesTaken(thrown, picturesIn(first.shown)) !== undefined) {
      return await fewer(thrown);
    }
    if (first.shown.length === 0 || !refusesContent(thrown)) throw thrown;
    return await without(thrown);
  }

  function done(answer: Answer) {
    return { answer, marked: marks(kept, key, hidden) };
  }

  async function without(thrown: unknown) {
    const likely = [...guesses(thrown, first.shown)];
    let now = first;
    let error = thrown;
    let out: readonly Shown[] = [];
    for (let tries = 1; tries <= MORE_TRIES && now.shown.length > 0; tries += 1) {
      const named = namedIn(error, now.shown, kept);
      const next = named === undefined ? likely.shift() : [...out, named];
      // Whatever it is about, the last try is without any.
      out = next === undefined || tries === MORE_TRIES ? first.shown : next;
      hidden = new Set();
      now = await show(out);
      try {
        const answer = await ask(now.messages);
        const kind = unseenKind(thrown, first.shown);
        if (kind[0] && kind.every((each) => out.includes(each))) unseen.add(kind[0].kind);
        return done(answer);
      } catch (again) {
        if (!refusesContent(again)) throw again;
        error = again;
      }
    }
    // It was not about the media; the first words say what it was about.
    throw thrown;
  }

  /** The newest pictures, as many as it takes; nothing is held against the others. */
  async function fewer(thrown: unknown) {
    let error = thrown;
    let pictures = picturesIn(first.shown);
    for (let tries = 1; tries <= MORE_TRIES; tries += 1) {
      const taken = picturesTaken(error, pictures);
      if (taken === undefined) throw error;
      hidden = new Set();
      const now = await show([], { shapes, limits: { ...limits, pictures: taken } });
      pictures = picturesIn(now.shown);
      try {
        const answer = await ask(now.messages);
        asking.most.pictures = taken;
        return done(answer);
      } catch (again) {
        error = again;
      }
    }
    throw error;
  }

  /** More than the model takes: the media of this turn alone, and documents as the text that the limits leave of them. */
  async function lighter(thrown: unknown) {
    hidden = new Set();
    const { messages } = await show([], {
      shapes: { ...shapes, pdf: false },
      limits: { ...limits, mediaTurns: 1 },
    });
    try {
      return done(await ask(messages));
    } catch (again) {
      throw isOverflow(again) ? thrown : again;
    }
  }
}

function picturesIn(shown: readonly Shown[]): number {
  return shown.filter(({ kind }) => kind === "image").length;
}

/** The messages of which something was hidden that they do not say yet. */
function marks(
  kept: readonly BaseMessage[],
  key: string,
  hidden: ReadonlySet<BlobRef>,
): readonly BaseMessage[] {
  return kept.flatMap((message) => {
    const perch = perchContent(message);
    const said = perch?.refused?.[key] ?? [];
    const blobs = (perch?.content ?? [])
      .flatMap((block) =>
        block.type === "text" ? [] : [block.blob, ...(block.stills ?? []).map(({ blob }) => blob)],
      )
      .filter((blob) => hidden.has(blob));
    const all = [...new Set([...said, ...blobs])];
    return all.length > said.length ? [withRefused(message, key, all)] : [];
  });
}
