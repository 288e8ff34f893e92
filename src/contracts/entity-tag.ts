/** Conditional requests for public files. */

/** RFC 9110, 13.1.2: any of a list, or `*`; compared weakly, because compressing proxies weaken our tag. */
export const matchesEtag = (header: string | undefined, etag: string): boolean =>
  header?.split(',').some((one) => ['*', etag].includes(one.trim().replace(/^W\//, ''))) ?? false
