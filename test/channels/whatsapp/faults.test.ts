import { expect, it } from "vitest";
import { Faults } from "../../../channels/whatsapp/baileys/life/faults.ts";

it("is well again when each part is, and tells what is still wrong", () => {
  const told: string[] = [];
  const faults = new Faults({
    failed: (error) => void told.push(error.message),
    recovered: () => void told.push("well"),
  });
  const line = faults.of("line");
  const store = faults.of("store");
  store.recovered();
  line.failed(new Error("not linked"));
  store.failed(new Error("the disk is full"));
  store.recovered();
  store.recovered();
  line.recovered();
  expect(told).toEqual(["not linked", "the disk is full", "not linked", "well"]);
});
