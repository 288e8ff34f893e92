/** A name that Postgres takes without quotes, made from that of a file; empty where nothing is left of it. */
export const nameFromFile = (filename: string, maxLength: number): string =>
  filename
    .replace(/\.[^.]*$/, '')
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replace(/^[_0-9]+/, '')
    .slice(0, maxLength)
    .replace(/_+$/, '')
