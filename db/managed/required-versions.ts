/** What a server must have: pgvector with iterative scans (0.8), and no CREATE for PUBLIC on schema `public` (15). */

export const MIN_PGVECTOR = '0.8'
export const MIN_POSTGRES = 15

/** `0.10.0` is newer than `0.8`. What is not a version is not supported. */
export function isPgvectorSupported(version: string): boolean {
  if (!/^\d{1,6}(\.\d{1,6}){1,3}$/.test(version)) return false
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [needsMajor = 0, needsMinor = 0] = MIN_PGVECTOR.split('.').map(Number)
  return major > needsMajor || (major === needsMajor && minor >= needsMinor)
}

/** Takes `server_version_num`: 150019 is 15.19. */
export const isPostgresSupported = (versionNumber: number): boolean =>
  Math.floor(versionNumber / 10_000) >= MIN_POSTGRES
