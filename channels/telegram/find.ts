import type { Attempt, KnownAround, Piece, PlatformId, Whereabouts } from "../../src/core/channel.ts";
import { formsOf } from "../../src/core/forms.ts";
import type { ChatAddress } from "../../src/core/identity.ts";
import type { Form } from "./forms.ts";
import { captionParameters, richParameters, textParameters } from "./piece-parameters.ts";
import { guestQuery } from "./place.ts";
import { type Edit, editsOursAlone, idsBetween, probe, type ProbeParts } from "./probe.ts";
import type { RichChats } from "./rich-chats.ts";

export type FindParts = ProbeParts & {
  /** Of these ids those that show no answer which is being written; such messages go by themselves. */
  readonly withoutPreviews: (
    to: ChatAddress,
    ids: readonly number[],
    signal: AbortSignal,
  ) => Promise<readonly number[]>;
  readonly linkPreviews: boolean | undefined;
  readonly rich: RichChats;
};

/**
 * Looks for a piece that may or may not have been sent. Only ids between two recorded ones are probed, for there stands
 * nothing of ours but this piece, or what nobody has recorded either: a text that a probe turns into this one is found all
 * the same.
 * @throws GatewayError "send.*" when Telegram cannot be asked now.
 */
export async function find(
  piece: Piece,
  attempt: Attempt,
  known: KnownAround,
  parts: FindParts,
  signal: AbortSignal,
): Promise<Whereabouts> {
  const { to, body } = piece;
  if (guestQuery(to) !== undefined) return { kind: "unknown" };
  const forms = formsOf<Form>(attempt);
  const replaced = forms.has("new") ? undefined : piece.replaces;
  const ids = replaced === undefined ? between(known) : [Number(replaced)];
  if (!ids) return { kind: "unknown" };
  if (replaced === undefined && !(await editsOursAlone(to, parts, signal))) return { kind: "unknown" };
  const candidates = await parts.withoutPreviews(to, ids, signal);
  const { api, linkPreviews, rich } = parts;
  const asking =
    (edit: Edit): Ask =>
    (id) =>
      probe(to, id, edit, parts, signal);
  if (body.kind === "text") {
    const text = richParameters(piece, forms, rich) ?? textParameters(body, forms, linkPreviews);
    return await findText(
      candidates,
      asking((at, cut) => api.editMessageText({ ...at, ...text }, cut)),
    );
  }
  const captions = (body.kind === "album" ? body.items : [body]).map((item) => {
    const caption = captionParameters(item.caption, forms);
    return asking((at, cut) => api.editMessageCaption({ ...at, ...caption }, cut));
  });
  return await findMedia(candidates, captions);
}

type Ask = (id: number) => ReturnType<typeof probe>;

async function findText(candidates: readonly number[], ask: Ask): Promise<Whereabouts> {
  let isClear = true;
  for (const id of candidates) {
    const answer = await ask(id);
    if (answer === "the same" || answer === "changed") return found([id]);
    isClear &&= answer === "not ours";
  }
  return { kind: isClear ? "absent" : "unknown" };
}

/** Captions say less than texts: only one that is the same already is proof, and an album is there when all of it is. */
async function findMedia(candidates: readonly number[], captions: readonly Ask[]): Promise<Whereabouts> {
  const ids: number[] = [];
  let isClear = true;
  for (const id of candidates) {
    const answer = await captions[ids.length]?.(id);
    if (answer === "the same") ids.push(id);
    if (ids.length === captions.length) return found(ids);
    isClear &&= answer === "not ours";
  }
  return { kind: isClear ? "absent" : "unknown" };
}

function found(ids: readonly number[]): { readonly kind: "found"; readonly ids: readonly PlatformId[] } {
  return { kind: "found", ids: ids.map(String) };
}

/** The ids between those before and those after, where both are known and few lie between. */
function between({ before, after }: KnownAround): readonly number[] | undefined {
  // Of none, the greatest and the smallest are infinite.
  const low = Math.max(...before.filter(isId).map(Number));
  // What came later can be about an older message: a pressed button has the id of its question.
  const later = after
    .filter(isId)
    .map(Number)
    .filter((id) => id > low);
  return idsBetween(low, Math.min(...later));
}

function isId(id: PlatformId): boolean {
  return /^\d+$/.test(id);
}
