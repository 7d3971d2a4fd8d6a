/** A no of the Graph API, with its error object. */
export class GraphRefusal extends Error {
  readonly status: number;
  readonly code: number;
  readonly details: string;
  readonly retryAfterSeconds: number | undefined;
  readonly subcode: number | undefined;

  constructor(
    status: number,
    code: number,
    message: string,
    more: { readonly details?: string; readonly retryAfterSeconds?: number; readonly subcode?: number } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = more.details ?? "";
    this.retryAfterSeconds = more.retryAfterSeconds;
    this.subcode = more.subcode;
  }

  toJSON(): object {
    return {
      error: {
        message: `(#${this.code}) ${this.message}`,
        type: "OAuthException",
        code: this.code,
        ...(this.subcode === undefined ? {} : { error_subcode: this.subcode }),
        ...(this.details === ""
          ? {}
          : { error_data: { messaging_product: "whatsapp", details: this.details } }),
        fbtrace_id: "AbCdEfGhIjKlMnOpQrStUv",
      },
    };
  }
}

export function wrong(details: string): GraphRefusal {
  return new GraphRefusal(400, 131009, "Parameter value is not valid", { details });
}
