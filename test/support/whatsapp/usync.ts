import { type BinaryNode, getBinaryNodeChildren, getBinaryNodeChildString } from "@whiskeysockets/baileys";
import { child, node } from "./nodes.ts";
import type { World } from "./world.ts";

/** Who is on WhatsApp, under which addresses and with which devices: the answer to a `<usync>`. */
export function usyncAnswer(world: World, usync: BinaryNode): BinaryNode {
  const { content: asked } = child(usync, "query");
  const protocols = new Set(Array.isArray(asked) ? asked.map(({ tag }) => tag) : []);
  const users = getBinaryNodeChildren(child(usync, "list"), "user").map((user) =>
    userNode(world, user, protocols),
  );
  return node("usync", usync.attrs, [node("result", {}, []), node("list", {}, users)]);
}

function userNode(world: World, user: BinaryNode, protocols: ReadonlySet<string>): BinaryNode {
  const asked = getBinaryNodeChildString(user, "contact") ?? "";
  const jid = user.attrs["jid"] ?? `${asked.replace(/\D/g, "")}@s.whatsapp.net`;
  const person = world.person(jid);
  const content: BinaryNode[] = [];
  if (protocols.has("contact")) content.push(node("contact", { type: person ? "in" : "out" }));
  if (person && protocols.has("devices")) {
    const linked = world.devicesOf(person).filter(({ bundle }) => bundle);
    const devices = linked.map((device) =>
      node("device", { id: String(device.number), "key-index": String(device.number) }),
    );
    content.push(node("devices", {}, [node("device-list", {}, [node("device", { id: "0" }), ...devices])]));
  }
  if (person && protocols.has("lid") && !jid.endsWith("@lid")) content.push(node("lid", { val: person.lid }));
  return node("user", { jid }, content);
}
