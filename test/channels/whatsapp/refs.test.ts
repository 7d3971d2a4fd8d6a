import { expect, it } from "vitest";
import { nameIn, refOf } from "../../../channels/whatsapp/baileys/refs.ts";

const BOB = "90000000000002@lid";

it.each([
  [{ id: "3A01" }, "3A01"],
  [{ id: "3A01", participant: BOB }, `3A01/${BOB}`],
  // Whose a message is, its id does not say.
  [{ id: `3A01/${BOB}` }, `3A01%2F${BOB}`],
  [{ id: "a%2Fb/%", participant: BOB }, `a%252Fb%2F%25/${BOB}`],
])("names %j as %s, and reads it again", (name, ref) => {
  expect(refOf(name)).toBe(ref);
  expect(nameIn(ref)).toEqual(name);
});
