/** Where a person can look at a data source. From the configuration only: a Host header must not choose where agents send people. */
export const sourceUrl = (appUrl: URL, sourceId: string): string =>
  new URL(`/console/data-sources/${encodeURIComponent(sourceId)}`, appUrl).href
