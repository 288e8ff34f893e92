/**
 * Whether this process will open the embedded database, as far as can be said before the settings are read. Whoever chooses
 * services mostly chooses such as have no database: there the engine loads once it is needed.
 */
export const isEngineLikely = (
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): boolean => words.every((word) => word === '--empty') && !env['DATABASE_URL'] && !env['SVC_SERVICES']
