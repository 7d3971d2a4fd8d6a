/** What the Bot API answers when it says no: `{ ok: false, error_code, description, parameters }`. */
export class Refusal extends Error {
  readonly code: number;
  readonly parameters?: RefusalParameters;

  constructor(code: number, description: string, parameters?: RefusalParameters) {
    super(description);
    this.name = "Refusal";
    this.code = code;
    if (parameters !== undefined) this.parameters = parameters;
  }
}

export type RefusalParameters = { readonly retry_after?: number; readonly migrate_to_chat_id?: number };

export function badRequest(what: string, parameters?: RefusalParameters): Refusal {
  return new Refusal(400, `Bad Request: ${what}`, parameters);
}

export function tooMany(seconds: number): Refusal {
  return new Refusal(429, `Too Many Requests: retry after ${seconds}`, { retry_after: seconds });
}
