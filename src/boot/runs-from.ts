/** What runs, for the log. scripts/build-server.ts writes the other word into the bundle. */
export const RUNS_FROM: 'sources' | 'bundle' = 'sources'
