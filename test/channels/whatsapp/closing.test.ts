import { expect, it, onTestFinished } from "vitest";
import { openBaileys } from "../../../channels/whatsapp/baileys/open.ts";
import { settings } from "../../../channels/whatsapp/settings.ts";
import { listening } from "./listening.ts";

it("loses and doubles nothing of what comes while it is closed", async () => {
  const on = await listening();
  onTestFinished(() => on.close());
  const group = on.wa.addGroup({ subject: "Friends", members: [on.owner, on.bob, on.carol] });
  const said: string[] = [];
  let channel = on.channel;
  for (let round = 0; round < 5; round++) {
    for (let n = 0; n < 20; n++) {
      const text = `${round}/${n}`;
      said.push(text);
      await (n % 2 === 0 ? on.bob.say(on.device, text) : on.carol.say(on.device, text, { group }));
    }
    await on.hears(`${round}/${round}`);
    await channel.close();
    channel = await openBaileys(
      settings.parse({ testServer: { url: on.wa.url, ca: on.wa.ca } }),
      on.host.host,
    );
  }
  for (const text of said) await on.hears(text);
  await on.clock.advance(90_000);
  await channel.close();
  const texts = on.host.accepted.flatMap((event) => (event.type === "message" ? event.content : []));
  expect(texts.map((part) => (part.type === "text" ? part.text : "")).toSorted()).toEqual(said.toSorted());
}, 60_000);
