export declare const PIXEL: string;
export declare function tools(more: number, prefix?: string): readonly object[];
export declare function answers(
  name: string,
  args: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string | undefined>>,
): Promise<object>;
