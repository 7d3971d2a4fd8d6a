/** Whether it is an IANA name that this machine knows, such as "Europe/Berlin". */
export function isTimeZone(name: string): boolean {
  try {
    return Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

/** All names that may be suggested. */
export function timeZones(): readonly string[] {
  return ["UTC", ...Intl.supportedValuesOf("timeZone")];
}

export function machineTimeZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}
