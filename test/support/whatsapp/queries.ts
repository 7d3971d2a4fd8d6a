import { type BinaryNode, getBinaryNodeChildren, jidDecode } from "@whiskeysockets/baileys";
import type { Connection } from "./connection.ts";
import { bundleNode, signedKey, uploadedBundle } from "./key-bundle.ts";
import { child, firstChild, node } from "./nodes.ts";
import { mexAnswer } from "./restrictions.ts";
import { usyncAnswer } from "./usync.ts";

/** Answers an `<iq>`. What nobody here knows is answered with an empty result, as WhatsApp answers pings. */
export async function answerQuery(connection: Connection, query: BinaryNode): Promise<void> {
  const fault = connection.world.faults.queries.meets(query);
  switch (fault?.kind) {
    case "silence":
      return;
    case "cut":
      return connection.cut();
    case "error":
      return connection.reply(
        query,
        [node("error", { code: String(fault.code), text: fault.text ?? "error" })],
        "error",
      );
    case "late":
      void fault.until.then(() => answer(connection, query));
      return;
    case undefined:
      return answer(connection, query);
  }
}

async function answer(connection: Connection, query: BinaryNode): Promise<void> {
  const content = firstChild(query) ?? node("");
  switch (query.attrs["xmlns"]) {
    case "encrypt":
      return answerKeys(connection, query, content);
    case "passive":
      connection.reply(query);
      return connection.activate();
    case "usync":
      return connection.reply(query, [usyncAnswer(connection.world, content)]);
    case "w:m":
      return connection.reply(query, [mediaHosts(connection)]);
    case "w:g2":
      return answerGroups(connection, query);
    case "md":
      return answerDevices(connection, query, content);
    case "privacy":
      return connection.reply(query, [
        node("privacy", {}, [node("category", { name: "readreceipts", value: "all" })]),
      ]);
    case "abt":
      return connection.reply(query, [node("props", { hash: "h1" }, [])]);
    case "blocklist":
      return connection.reply(query, [node("list", {}, [])]);
    case "w:mex":
      return connection.reply(query, [mexAnswer(content, connection.device?.phone.restriction)]);
    case "w:sync:app:state":
      return connection.reply(query, [appState(content)]);
    default:
      return connection.reply(query);
  }
}

function answerKeys(connection: Connection, query: BinaryNode, content: BinaryNode): void {
  const { device, world } = connection;
  if (!device) return connection.cut();
  if (content.tag === "count") {
    const count = device.bundle?.preKeys.size ?? 0;
    return connection.reply(query, [node("count", { value: String(count) })]);
  }
  if (content.tag === "digest") return connection.reply(query, device.bundle ? [node("digest")] : []);
  if (content.tag === "rotate") {
    if (device.bundle) device.bundle = { ...device.bundle, signed: signedKey(child(content, "skey")) };
    return connection.reply(query);
  }
  if (content.tag === "key") {
    const users = getBinaryNodeChildren(content, "user").map(({ attrs: { jid = "" } }) => {
      const number = jidDecode(jid)?.device;
      const bundle = number ? world.device(jid)?.bundle : world.person(jid)?.signal.bundle;
      if (bundle) return bundleNode(jid, bundle);
      return node("user", { jid }, [node("error", { code: "406", text: "not-acceptable" })]);
    });
    return connection.reply(query, [node("list", {}, users)]);
  }
  device.bundle = uploadedBundle(query, device.bundle);
  connection.reply(query);
}

function answerGroups(connection: Connection, query: BinaryNode): void {
  const { groups } = connection.world;
  const { to = "" } = query.attrs;
  if (to === "@g.us") {
    const own = [...groups.values()].filter(
      ({ members }) => connection.device && members.has(connection.device.phone),
    );
    return connection.reply(query, [
      node(
        "groups",
        {},
        own.map((group) => group.metadata()),
      ),
    ]);
  }
  const group = groups.get(to);
  if (!group)
    return connection.reply(query, [node("error", { code: "404", text: "item-not-found" })], "error");
  group.queries += 1;
  connection.reply(query, [group.metadata()]);
}

function answerDevices(connection: Connection, query: BinaryNode, content: BinaryNode): void {
  const { device, world } = connection;
  if (content.tag === "link_code_companion_reg") return connection.codePairing.take(query, content);
  connection.reply(query);
  if (content.tag !== "remove-companion-device" || !device) return;
  world.unlink(device);
}

function mediaHosts({ world }: Connection): BinaryNode {
  const host = node("host", { hostname: world.media.host, maxContentLengthBytes: "104857600" });
  return node("media_conn", { auth: "AUTH", ttl: "3600" }, [host]);
}

/** No chat settings are kept: every collection is empty. */
function appState(sync: BinaryNode): BinaryNode {
  const collections = getBinaryNodeChildren(sync, "collection").map(({ attrs: { name = "" } }) =>
    node("collection", { name, version: "0", type: "result" }),
  );
  return node("sync", {}, collections);
}
