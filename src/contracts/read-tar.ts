/**
 * Reads a tar archive of a source tree: files and folders only, and every problem at once. Archives come from anybody, so
 * links, devices and whatever else tar can hold are problems, not features. Plain, for the client too.
 */
import { SOURCE_FILE_MAX_BYTES, SOURCE_FILES_MAX } from './limits.ts'
import { collisionsIn, problemWithPath, shownPath } from './source-paths.ts'

export type ArchivedFile = {
  readonly path: string
  readonly content: Uint8Array
  readonly isExecutable: boolean
}

export type ReadTar = { readonly files: readonly ArchivedFile[]; readonly problems: readonly string[] }

const BLOCK = 512
/** Of the list of problems: the rest is counted. */
const PROBLEMS_MAX = 100

const KINDS: Readonly<Record<string, string>> = {
  '1': 'a hard link',
  '2': 'a symbolic link',
  '3': 'a device',
  '4': 'a device',
  '6': 'a pipe',
  S: 'a sparse file',
}

export function readTar(tar: Uint8Array): ReadTar {
  const bytes = Buffer.from(tar.buffer, tar.byteOffset, tar.byteLength)
  const files: ArchivedFile[] = []
  const problems: string[] = []
  let count = 0
  /** From a header that describes the next entry. */
  let next: { path?: string; size?: number } = {}
  for (let at = 0; at + BLOCK <= bytes.length;) {
    const header = bytes.subarray(at, at + BLOCK)
    if (header.every((byte) => byte === 0)) break
    const entry = readHeader(header)
    if (!entry) return broken(problems, 'The archive is damaged')
    const size = next.size ?? entry.size
    const content = bytes.subarray(at + BLOCK, at + BLOCK + size)
    if (content.length !== size) return broken(problems, 'The archive ends in the middle of a file')
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK
    if (entry.type === 'x') {
      const records = readPax(content)
      if (!records) return broken(problems, 'The archive is damaged')
      if (Object.keys(records).some((key) => key.startsWith('GNU.sparse.'))) {
        problems.push(`${shownPath(records['path'] ?? entry.path)}: is a sparse file`)
      }
      next = { ...next, ...paxFields(records) }
      continue
    }
    if (entry.type === 'L') {
      next = { ...next, path: untilNul(content) }
      continue
    }
    // Settings for all entries, such as the commit that git archive writes, and the name of a long link.
    if (entry.type === 'g' || entry.type === 'K') continue
    // Archives are made in a folder, and say so.
    const path = (next.path ?? entry.path).replace(/^(?:\.\/)+/, '')
    next = {}
    if (entry.type === '5') {
      const folder = path.replace(/\/$/, '')
      const problem = folder === '' || folder === '.' ? undefined : problemWithPath(folder)
      if (problem) problems.push(`${shownPath(path)}: ${problem}`)
      continue
    }
    count += 1
    if (count > SOURCE_FILES_MAX) return broken(problems, `There are more than ${SOURCE_FILES_MAX} files`)
    const problem = problemOf(entry.type, path, size)
    if (problem) problems.push(`${shownPath(path)}: ${problem}`)
    else files.push({ path, content, isExecutable: (entry.mode & 0o100) !== 0 })
  }
  problems.push(...collisionsIn(files.map(({ path }) => path)))
  if (files.length === 0 && problems.length === 0) problems.push('The archive contains no file')
  return { files, problems: atMost(problems) }
}

const broken = (problems: readonly string[], last: string): ReadTar => ({
  files: [],
  problems: atMost([last, ...problems]),
})

const atMost = (problems: readonly string[]): readonly string[] =>
  problems.length <= PROBLEMS_MAX
    ? problems
    : [...problems.slice(0, PROBLEMS_MAX), `and ${problems.length - PROBLEMS_MAX} more`]

function problemOf(type: string, path: string, size: number): string | undefined {
  if (type !== '0' && type !== '\0' && type !== '7') return `is ${KINDS[type] ?? 'of an unknown kind'}`
  return (
    problemWithPath(path) ??
    (size > SOURCE_FILE_MAX_BYTES ? `is larger than ${SOURCE_FILE_MAX_BYTES / 1024 / 1024} MiB` : undefined)
  )
}

type Header = { readonly path: string; readonly type: string; readonly size: number; readonly mode: number }

function readHeader(header: Buffer): Header | undefined {
  const size = readNumber(header.subarray(124, 136))
  const mode = readNumber(header.subarray(100, 108))
  const stated = readNumber(header.subarray(148, 156))
  if (size === undefined || mode === undefined || stated === undefined) return undefined
  // The field of the checksum itself counts as spaces.
  let sum = 8 * 32
  for (let i = 0; i < BLOCK; i++) if (i < 148 || i >= 156) sum += header[i]!
  if (sum !== stated) return undefined
  const isUstar = header.toString('latin1', 257, 262) === 'ustar'
  const prefix = isUstar ? untilNul(header.subarray(345, 500)) : ''
  const name = untilNul(header.subarray(0, 100))
  return {
    path: prefix === '' ? name : `${prefix}/${name}`,
    type: String.fromCharCode(header[156]!),
    size,
    mode,
  }
}

/** Octal text, or base 256 behind a first byte of 0x80. */
function readNumber(field: Buffer): number | undefined {
  if (field[0] === 0x80) {
    const value = field.subarray(1).reduce((sum, byte) => sum * 256 + byte, 0)
    return Number.isSafeInteger(value) ? value : undefined
  }
  const text = untilNul(field).trim()
  return /^[0-7]*$/.test(text) ? parseInt(text || '0', 8) : undefined
}

/** `<length> <key>=<value>\n`, the length counting itself. */
function readPax(content: Buffer): Record<string, string> | undefined {
  const records: Record<string, string> = {}
  for (let at = 0; at < content.length;) {
    const space = content.indexOf(0x20, at)
    const length = space === -1 ? NaN : Number(content.toString('latin1', at, space))
    if (!Number.isInteger(length) || length <= space - at || at + length > content.length) return undefined
    const record = content.toString('utf8', space + 1, at + length - 1)
    const equals = record.indexOf('=')
    if (equals === -1 || content[at + length - 1] !== 0x0a) return undefined
    records[record.slice(0, equals)] = record.slice(equals + 1)
    at += length
  }
  return records
}

function paxFields({ path, size }: Record<string, string>): { path?: string; size?: number } {
  return {
    ...(path === undefined ? {} : { path }),
    ...(size !== undefined && /^\d{1,12}$/.test(size) ? { size: Number(size) } : {}),
  }
}

function untilNul(field: Buffer): string {
  const end = field.indexOf(0)
  return field.toString('utf8', 0, end === -1 ? field.length : end)
}
