import type { ChannelHost } from "../../../src/core/host.ts";
import { pause } from "../../../src/core/clock.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { CloudSettings } from "../settings.ts";
import type { Failure } from "./failures.ts";
import { asGraphError, type Graph, type GraphCall } from "./graph.ts";
import { askNumber, type OwnNumber } from "./number.ts";

const CALL_MS = 15_000;
const FIRST_WAIT_MS = 2_000;
const LONGEST_WAIT_MS = 10 * 60_000;
/** A network that is away for less is nobody's concern. */
const FAILURES_BEFORE_TOLD = 6;

type Refused = Extract<Failure, { readonly kind: "refused" }>;

/**
 * Where the connection stands: Meta is asked for the number until it answers, and again while it refuses the token or the
 * account. What calls of the number bring says it as well.
 */
export class Standing {
  readonly #host: ChannelHost;
  readonly #settings: CloudSettings;
  readonly #closing: AbortSignal;
  #number: OwnNumber | undefined;
  #trouble: Refused["sort"] | undefined;
  #isOpen = false;
  #told = false;

  constructor(host: ChannelHost, settings: CloudSettings, closing: AbortSignal) {
    this.#host = host;
    this.#settings = settings;
    this.#closing = closing;
    host.stands({ is: "connecting" });
  }

  /** Asks until Meta has answered once. Never rejects. */
  async look(graph: Graph): Promise<void> {
    const { clock } = this.#host;
    for (let failures = 0; !this.#closing.aborted; failures++) {
      try {
        this.#number = await askNumber(graph, this.#settings, CALL_MS, this.#closing);
        return this.#over("token");
      } catch (thrown) {
        if (this.#closing.aborted) return;
        const { failure } = asGraphError(thrown);
        const waitMs = Math.min(FIRST_WAIT_MS * 2 ** failures, LONGEST_WAIT_MS);
        this.#away(failure, failures, waitMs);
        await pause(clock, waitMs, this.#closing);
      }
    }
  }

  /** How a call ended. Those of a file say nothing of the number. */
  heard(failure: Failure | undefined, { path, method }: GraphCall): void {
    if (this.#closing.aborted || !path.startsWith(this.#settings.phoneNumberId)) return;
    if (failure?.kind === "refused" && (failure.sort === "token" || failure.sort === "account"))
      return this.#stopped(failure);
    // That the number is known says nothing of whether it may send.
    if (!failure && method === "POST") this.#over("account");
  }

  /** @throws GatewayError "channel.unreachable" where Meta has not told it and does not now. */
  async number(graph: Graph): Promise<OwnNumber> {
    try {
      return (this.#number ??= await askNumber(graph, this.#settings, CALL_MS, this.#closing));
    } catch (thrown) {
      const { why } = asGraphError(thrown).failure;
      throw new GatewayError("channel.unreachable", `Meta does not tell the number of the channel: ${why}`);
    }
  }

  #over(upTo: "token" | "account"): void {
    if (this.#trouble === "account" && upTo === "token") return;
    if (this.#told) this.#host.recovered();
    this.#told = false;
    this.#trouble = undefined;
    if (!this.#isOpen) this.#host.stands({ is: "open" });
    this.#isOpen = true;
  }

  #stopped({ sort, why }: Refused): void {
    if (this.#trouble === sort) return;
    this.#trouble = sort;
    this.#isOpen = false;
    this.#told = true;
    const { id } = this.#host;
    const remedy =
      sort === "token"
        ? `set channels.${id}.cloud.token to a token of a system user with whatsapp_business_messaging`
        : "look at the account in WhatsApp Manager";
    const sentence = `${why}; ${remedy}`;
    this.#host.stands({ is: "stopped", why: sentence });
    this.#host.failed(new GatewayError("channel.refused", `the channel “${id}” cannot send: ${sentence}`));
  }

  #away(failure: Failure, failures: number, waitMs: number): void {
    const { log, clock, id } = this.#host;
    if (failure.kind === "refused" && (failure.sort === "token" || failure.sort === "account")) return;
    (failures === 0 ? log.warn : log.debug)(
      { waitMs, why: failure.why },
      "Meta did not tell of the number; asked again",
    );
    this.#host.stands({ is: "waiting", until: clock.now() + waitMs, why: failure.why });
    if (failures + 1 !== FAILURES_BEFORE_TOLD || this.#told) return;
    this.#told = true;
    this.#host.failed(
      new GatewayError("channel.unreachable", `the channel “${id}” does not reach Meta: ${failure.why}`),
    );
  }
}
