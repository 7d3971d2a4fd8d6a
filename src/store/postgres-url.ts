import { GatewayError } from "../core/errors.ts";

/** Where the facts are, as the driver takes it and as people may be told it. */
export type ServerAddress = {
  readonly url: string;
  /** "db.example.org:5432/perch", with the schema where one is named; neither user nor password. */
  readonly name: string;
  readonly schema: string | undefined;
  /** As `postgres -c …` takes them. */
  readonly options: string;
};

/** A name that stands in a list of settings without a quote too many. */
const SCHEMA = /^[a-z_][a-z0-9_]{0,62}$/;

/** Whether a text can be the address of a PostgreSQL server. Pure. */
export function isServerUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && (url.protocol === "postgres:" || url.protocol === "postgresql:");
}

/** @throws GatewayError "data.unusable"; the address itself is not named, for it may hold a password. */
export function serverAt(text: string): ServerAddress {
  if (!isServerUrl(text))
    throw new GatewayError(
      "data.unusable",
      "the address of the store is none of a PostgreSQL server; write postgres://user:password@host:5432/database",
    );
  const url = new URL(text);
  const schema = url.searchParams.get("schema") ?? undefined;
  const options = url.searchParams.get("options") ?? "";
  for (const ours of ["schema", "options"]) url.searchParams.delete(ours);
  if (schema !== undefined && !SCHEMA.test(schema))
    throw new GatewayError(
      "data.unusable",
      `the schema ${JSON.stringify(schema)} in the address of the store is no name; write 1–63 small letters, digits and _`,
    );
  const place = `${url.host === "" ? "localhost" : url.host}${decodeURIComponent(url.pathname)}`;
  return {
    url: url.href,
    name: schema === undefined ? place : `${place}, schema ${schema}`,
    schema,
    options: schema === undefined ? options : `${options} -c search_path="${schema}"`.trim(),
  };
}
