import type { Attempt, Piece, PieceBody } from "../core/channel.ts";
import { say } from "../core/sentences.ts";
import type { Rendered } from "../core/tree.ts";
import type { OpenPiece } from "../store/pieces.ts";

/** The piece as it was planned, which is what its first sending shows. */
export function asPlanned({ id, to, replyTo, replaces, body }: OpenPiece): Piece {
  return {
    id,
    to,
    body,
    ...(replyTo === "" ? {} : { replyTo }),
    ...(replaces === "" ? {} : { replaces }),
  };
}

/** The piece as it is sent now: marked where it goes once more. */
export function asSent(open: OpenPiece): Piece {
  const piece = asPlanned(open);
  return open.again ? { ...piece, body: marked(piece.body) } : piece;
}

export function attemptOf({ attempts, form }: OpenPiece): Attempt {
  return { number: attempts + 1, ...(form === "" ? {} : { form }) };
}

function marked(body: PieceBody): PieceBody {
  if (body.kind !== "text") return body;
  return { ...body, rendered: prefixed(`${say("piece.again")}\n`, body.rendered) };
}

function prefixed(words: string, { text, marks }: Rendered): Rendered {
  return {
    text: words + text,
    marks: marks.map((mark) => ({ ...mark, offset: mark.offset + words.length })),
  };
}
