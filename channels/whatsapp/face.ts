import type { ChannelFace } from "../../src/core/channel.ts";
import { CLOUD_LIMITS } from "./cloud/limits.ts";
import { LIMITS } from "./limits.ts";
import { render } from "./render.ts";
import { inSigns } from "./signs.ts";

/** Of a linked device. */
export const FACE: ChannelFace = {
  limits: LIMITS,
  render,
  lengthOf: (rendered) => inSigns(rendered).length,
};

/** Of a number of the Cloud API. */
export const CLOUD_FACE: ChannelFace = { ...FACE, limits: CLOUD_LIMITS };
