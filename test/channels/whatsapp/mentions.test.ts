import { describe, expect, it } from "vitest";
import { mentionsIn } from "../../../channels/whatsapp/baileys/sending/mentions.ts";

const BY_LID = [
  { id: "90000000000002@lid", phoneNumber: "15550000002@s.whatsapp.net" },
  { id: "90000000000003@lid" },
];
const BY_NUMBER = [{ id: "15550000002@s.whatsapp.net", lid: "90000000000002@lid" }];

describe("who is named", () => {
  it.each([
    ["@15550000002 look", BY_LID, "@90000000000002 look", ["90000000000002@lid"]],
    ["@+15550000002, look", BY_LID, "@90000000000002, look", ["90000000000002@lid"]],
    ["@90000000000002", BY_NUMBER, "@15550000002", ["15550000002@s.whatsapp.net"]],
    [
      "*@90000000000003* twice @90000000000003",
      BY_LID,
      "*@90000000000003* twice @90000000000003",
      ["90000000000003@lid"],
    ],
    ["@15550000009 is a stranger", BY_LID, "@15550000009 is a stranger", []],
    ["mail me: a@15550000002", BY_LID, "mail me: a@15550000002", []],
    ["@15550000002x", BY_LID, "@15550000002x", []],
    ["@15550000002", [], "@15550000002", []],
  ])("in %j is known by the address that the group uses", (text, members, written, jids) => {
    expect(mentionsIn(text, members)).toEqual({ text: written, jids });
  });
});
