/**
 * Fields first, sentence last: `log.warn({ chat: 12, err }, "send failed, again in 3 s")`.
 * No token, phone number, message text or QR string at any level; a chat is its number.
 */
export type Log = {
  readonly debug: LogCall;
  readonly info: LogCall;
  readonly warn: LogCall;
  readonly error: LogCall;
  /** A log that adds these fields to every line. */
  with(fields: LogFields): Log;
};

export type LogFields = Readonly<Record<string, unknown>>;

type LogCall = (fields: LogFields, sentence: string) => void;
