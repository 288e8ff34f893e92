/** The name of the row that says how often the database has gone back: fences carry that number. */
export const TIMELINE_FACT = 'database_timeline'
