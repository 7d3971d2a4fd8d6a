import { expect, it } from "vitest";
import { LIMITS, limitsOf } from "../../../channels/telegram/limits.ts";

it("lets files be as large as the server takes them, and pictures as large as ever", () => {
  const sizes = ({ fileBytes, shows }: typeof LIMITS) => [
    fileBytes,
    shows.video?.bytes,
    shows.voice?.bytes,
    shows.image?.bytes,
  ];
  const MB = 1024 * 1024;
  expect(sizes(limitsOf({}))).toEqual([50 * MB, 50 * MB, 50 * MB, 10 * MB]);
  expect(sizes(limitsOf({ serverFolder: "/var/lib/telegram-bot-api" }))).toEqual([
    2000 * MB,
    2000 * MB,
    2000 * MB,
    10 * MB,
  ]);
});
