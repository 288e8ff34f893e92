/** Which paths a source tree may have: the same on every file system it may be unpacked on. Plain, for the client too. */
import { SOURCE_FOLDERS_MAX, SOURCE_PATH_MAX_BYTES } from './limits.ts'

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
  const segments = path.split('/')
  if (segments.length > SOURCE_FOLDERS_MAX) return `lies in more than ${SOURCE_FOLDERS_MAX - 1} folders`
  for (const segment of segments) {
    if (segment === '' || segment === '.' || segment === '..') return `contains the segment "${segment}"`
    if (Buffer.byteLength(segment) > SEGMENT_MAX_BYTES) return 'has a segment longer than 255 bytes'
    // Whoever runs git in the unpacked tree would run what is configured there.
    if (isGitFolder(segment)) return 'lies in a .git folder'
  }
  return undefined
}

/** Also by the short name that Windows gives it, and with the dots and blanks at its end that Windows leaves away. */
const isGitFolder = (segment: string): boolean => /^(?:\.git[. ]*|git~\d+)$/i.test(segment)

const DEVICES = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\..*)?$/i

/** What is another file on Windows, or none. Trees that people push may have them; nothing that is proposed needs one. */
export function problemOnWindows(path: string): string | undefined {
  for (const segment of path.split('/')) {
    if (/[. ]$/.test(segment)) return 'has a name that ends with a dot or a blank'
    if (DEVICES.test(segment)) return 'has the name of a device'
    if (/~\d+(?:\.|$)/.test(segment)) return 'has a name that may be short for another one'
    if (/[<>:"|?*]/.test(segment)) return 'has a character that names do not have everywhere'
  }
  return undefined
}

/** Two names of the same key are one on some file systems. Upper case first: it makes one of ß and SS. */
const keyOf = (name: string): string => name.normalize('NFKC').toUpperCase().toLowerCase()

type Entry = { readonly id: number; readonly name: string; readonly isFile: boolean; readonly path: string }

/**
 * One line for each path that cannot lie beside the others. Every name is looked at once, below the number of its folder:
 * ten thousand deep paths cost no more than their length.
 */
export function collisionsIn(paths: readonly string[]): string[] {
  const problems: string[] = []
  const entries = new Map<string, Entry>()
  for (const path of paths) {
    const problem = addPath(entries, path)
    if (problem !== undefined) problems.push(problem)
  }
  return problems
}

function addPath(entries: Map<string, Entry>, path: string): string | undefined {
  const names = path.split('/')
  let folder = 0
  for (const [depth, name] of names.entries()) {
    const isFile = depth === names.length - 1
    const key = `${folder}/${keyOf(name)}`
    const known = entries.get(key)
    if (!known) {
      folder = entries.size + 1
      entries.set(key, { id: folder, name, isFile, path })
      continue
    }
    if (known.isFile !== isFile) return `${shownPath(isFile ? path : known.path)}: is a file and a folder`
    if (isFile || known.name !== name) {
      return collision(
        path,
        known.path
          .split('/')
          .slice(0, depth + 1)
          .join('/'),
      )
    }
    folder = known.id
  }
  return undefined
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
