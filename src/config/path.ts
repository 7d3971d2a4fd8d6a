/** Where something stands in a file: keys, and positions in lists. */
export type Path = readonly (string | number)[];
