import type { ChannelLimits } from "../../../src/core/channel.ts";
import { LIMITS } from "../limits.ts";

/** What a list holds at most; up to three short labels are buttons (choices.ts). */
export const MOST_ROWS = 10; // Cloud API, interactive list: 10 rows over all sections

const { album: _none, ...SHARED } = LIMITS;

/**
 * As of a linked device, but for what the Cloud API has not: albums, of which each file is a message of its own, edits,
 * deletions and groups; and for what only it has, buttons and lists.
 */
export const CLOUD_LIMITS: ChannelLimits = { ...SHARED, choices: MOST_ROWS };

/** Cloud API, media: files of people have up to 100 MB. */
export const MOST_DOWNLOAD_BYTES = 100_000_000;
