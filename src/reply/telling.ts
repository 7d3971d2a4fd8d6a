import type { Clock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import type { Meter, PieceTold } from "../core/meter.ts";
import type { Tracer } from "../core/tracing.ts";
import type { OpenPiece } from "../store/pieces.ts";

/** Tells of one try to send a piece, in numbers and in a span, where anybody counts or follows. `from` is epoch ms. */
export function tellOf(
  { meter, tracer, clock }: { readonly meter?: Meter; readonly tracer?: Tracer; readonly clock: Clock },
  piece: OpenPiece,
  from: number,
  error?: Error,
): void {
  const { channel } = piece.to;
  const code = error instanceof GatewayError ? error.code : error && "unexpected";
  meter?.piece(channel, outcomeOf(error));
  if (!tracer || piece.intent === 0) return;
  tracer.span({
    name: "deliver",
    intent: piece.intent,
    from,
    until: clock.now(),
    attributes: { channel, piece: piece.id, attempt: piece.attempts + 1, kind: piece.body.kind },
    ...(code === undefined ? {} : { failed: code }),
  });
}

function outcomeOf(error: Error | undefined): PieceTold {
  if (error === undefined) return "sent";
  if (!(error instanceof GatewayError)) return "unknown";
  switch (error.code) {
    case "send.not_written":
    case "send.rate_limited":
      return "again";
    case "send.chat_closed":
      return "parked";
    case "send.refused":
      return error.stepDown === undefined ? "failed" : "again";
    default:
      return "unknown";
  }
}
