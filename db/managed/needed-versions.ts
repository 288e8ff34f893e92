/** What a server must have: pgvector with iterative scans (0.8), and a schema `public` that is closed by default (15). */

export const OLDEST_PGVECTOR = '0.8'
export const OLDEST_POSTGRES = 15

/** `0.10.0` is newer than `0.8`. What does not read as a version is not new enough. */
export function isPgvectorNewEnough(version: string): boolean {
  if (!/^\d{1,6}(\.\d{1,6}){1,3}$/.test(version)) return false
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [needsMajor = 0, needsMinor = 0] = OLDEST_PGVECTOR.split('.').map(Number)
  return major > needsMajor || (major === needsMajor && minor >= needsMinor)
}

/** As `server_version_num` has it: 150019 is 15.19. */
export const isPostgresNewEnough = (versionNumber: number): boolean =>
  Math.floor(versionNumber / 10_000) >= OLDEST_POSTGRES
