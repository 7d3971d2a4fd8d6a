import type { ChannelState } from "../../../../src/core/host.ts";

/** Where an account stands in the connection's state, sealed value by sealed value. */
const ACCOUNT = "auth/";
export const CREDS = "auth/creds";
/** The credentials of an account that has been unlinked, for an operator to look at. */
export const UNLINKED = "unlinked/creds";

export function keyRow(type: string, id: string): string {
  return `${ACCOUNT}${type}/${id}`;
}

/** The library's name for what a row is: "session", "pre-key"; "creds" for the credentials. */
export function typeOf(row: string): string {
  return row.slice(ACCOUNT.length).split("/", 1)[0] ?? "";
}

const PAGE = 1_000;

type Page = readonly (readonly [string, string])[];

/** All rows of an account in their order, a page at a time. */
export function accountRows(state: Pick<ChannelState, "list">): AsyncGenerator<Page> {
  return rowsUnder(state, ACCOUNT);
}

/** The same of all rows whose keys begin so. */
export async function* rowsUnder(state: Pick<ChannelState, "list">, prefix: string): AsyncGenerator<Page> {
  for (let after: string | undefined; ;) {
    const page = await state.list(prefix, { limit: PAGE, ...(after === undefined ? {} : { after }) });
    if (page.length > 0) yield page;
    if (page.length < PAGE) return;
    after = page.at(-1)?.[0];
  }
}
