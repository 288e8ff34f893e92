/** Which paths a source tree may have: the same on every file system it may be unpacked on. Plain, for the client too. */
import { SOURCE_PATH_MAX_BYTES } from './limits.ts'

/** Control characters, and those that make a name look like another one. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/u
const SEGMENT_MAX_BYTES = 255

/** What is wrong with one path, or nothing. */
export function problemWithPath(path: string): string | undefined {
  if (path === '') return 'has no name'
  if (Buffer.byteLength(path) > SOURCE_PATH_MAX_BYTES) return `is longer than ${SOURCE_PATH_MAX_BYTES} bytes`
  if (INVISIBLE.test(path)) return 'contains control or invisible characters'
  if (path.includes('\\')) return 'contains a backslash'
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path)) return 'is absolute'
  for (const segment of path.split('/')) {
    if (segment === '' || segment === '.' || segment === '..') return `contains the segment "${segment}"`
    if (Buffer.byteLength(segment) > SEGMENT_MAX_BYTES) return 'has a segment longer than 255 bytes'
    // Whoever runs git in the unpacked tree would run what is configured there.
    if (segment.toLowerCase() === '.git') return 'lies in a .git folder'
  }
  return undefined
}

/** Two paths of the same key are one file on some file systems. */
const keyOf = (path: string): string => path.normalize('NFKC').toLowerCase()

/** One line for each path that cannot lie beside the others. */
export function collisionsIn(paths: readonly string[]): string[] {
  const problems: string[] = []
  const files = new Map<string, string>()
  const folders = new Map<string, string>()
  for (const path of paths) {
    const same = files.get(keyOf(path))
    if (same !== undefined) problems.push(collision(path, same))
    else files.set(keyOf(path), path)
    const segments = path.split('/').slice(0, -1)
    for (let depth = 1; depth <= segments.length; depth++) {
      const folder = segments.slice(0, depth).join('/')
      const known = folders.get(keyOf(folder))
      if (known === undefined) folders.set(keyOf(folder), folder)
      else if (known !== folder) problems.push(collision(path, known))
    }
  }
  for (const [key, path] of files) {
    if (folders.has(key)) problems.push(`${shownPath(path)}: is a file and a folder`)
  }
  return problems
}

const collision = (path: string, other: string): string =>
  path === other
    ? `${shownPath(path)}: is there twice`
    : `${shownPath(path)}: collides with ${shownPath(other)} where names ignore case or accents`

/** As JSON writes it: a hostile name forges no line. */
export const shownPath = (path: string): string =>
  JSON.stringify(path.length > 120 ? `${path.slice(0, 119)}…` : path).replaceAll(
    /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  )
