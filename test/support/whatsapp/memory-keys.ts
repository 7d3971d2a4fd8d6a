import type { SignalDataSet, SignalDataTypeMap, SignalKeyStore } from "@whiskeysockets/baileys";

/** The keys of one device, in memory. */
export function memoryKeys(): SignalKeyStore {
  const values = new Map<string, unknown>();
  return {
    get<T extends keyof SignalDataTypeMap>(type: T, ids: string[]) {
      const found: Record<string, SignalDataTypeMap[T]> = {};
      for (const id of ids) {
        const value = values.get(`${type}/${id}`);
        if (value !== undefined) found[id] = value as SignalDataTypeMap[T]; // set under the same type
      }
      return found;
    },
    set(data: SignalDataSet) {
      for (const [type, entries] of Object.entries(data))
        for (const [id, value] of Object.entries(entries))
          if (value === null) values.delete(`${type}/${id}`);
          else values.set(`${type}/${id}`, value);
    },
  };
}
