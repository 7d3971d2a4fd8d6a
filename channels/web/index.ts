import { z } from "zod";
import type { ChannelKind } from "../../src/core/channel.ts";
import { FACE, openWebChat } from "./channel.ts";

const settings = z.strictObject({});

const web: ChannelKind<z.infer<typeof settings>> = {
  kind: "web",
  settings,
  // Whoever reaches the page is the one person that it knows.
  owner: "owner",
  face: () => FACE,
  // People look at it, and what is sent appears in the process that they look at.
  single: () => true,
  open: (_settings, host) => openWebChat(host),
};

export default web;
