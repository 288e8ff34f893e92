/** The files of a form: chosen one by one, as a folder, or in zip archives. What cannot be a document is left out, with the reason. */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { inflateRaw } from 'node:zlib'
import { byteSize } from '../../../contracts/byte-size.ts'
import {
  DOCUMENT_EXTENSIONS,
  documentFormatOf,
  isAccessFile,
  isMeantAsAccessFile,
} from '../../../contracts/document-formats.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { DOCUMENT_MAX_BYTES, DOCUMENTS_MAX } from '../../../contracts/limits.ts'
import { BrokenZip, readZip, type ZipEntry } from '../../../contracts/read-zip.ts'
import { problemWithPath, shownPath } from '../../../contracts/source-paths.ts'

export type UploadedFile = {
  readonly path: string
  readonly sha256: string
  readonly bytes: number
  readonly content: Uint8Array
}
export type UploadedFiles = {
  readonly files: readonly UploadedFile[]
  readonly leftOut: readonly { readonly path: string; readonly reason: string }[]
}

/** Of all archives of one form, held in memory. */
const UNPACKED_MAX_BYTES = 64 * 1024 * 1024
/** Text becomes hardly smaller than a twentieth: what grows more was made to. */
const RATIO_MAX = 200
const RATIO_FREE_BYTES = 1024 * 1024

const refusal = (message: string, hint = 'Nothing was uploaded.') =>
  new ServiceError('INVALID_REQUEST', message, { hint })

type Found = { readonly path: string; readonly bytes: number; read(): Promise<Uint8Array> }

/** Throws INVALID_REQUEST for an archive that is not to be trusted: then nothing of the form is taken. */
export async function readUploadedFiles(
  folder: readonly File[],
  single: readonly File[],
  isHeld: IsHeld,
): Promise<UploadedFiles> {
  const room = { bytes: UNPACKED_MAX_BYTES }
  // A browser puts the name of the chosen folder before each of its files.
  const names = folder.map(({ name }) => name)
  const skipped = skippedFolder(names, isHeld).length
  const found: Found[] = folder.map((file) => foundFile(file, file.name.slice(skipped)))
  for (const file of single) {
    if (/\.zip$/i.test(file.name)) found.push(...(await filesOfZip(file, room, isHeld)))
    else found.push(foundFile(file, file.name.replace(/^.*\//, '')))
  }
  const files: UploadedFile[] = []
  const leftOut: { path: string; reason: string }[] = []
  for (const one of found) {
    if (isHidden(one.path)) continue
    const reason = reasonAgainst(one)
    if (reason !== undefined && isMeantAsAccessFile(one.path)) {
      throw refusal(
        `${shownPath(one.path)} would say who sees its folder, and cannot be read. ${reason}`,
        'Nothing was uploaded. Name it access.yaml.',
      )
    }
    if (reason !== undefined) leftOut.push({ path: one.path, reason })
    else if (files.length === DOCUMENTS_MAX) {
      throw refusal(`There are more than ${DOCUMENTS_MAX.toLocaleString('en')} documents`)
    } else {
      const content = await one.read()
      const sha256 = createHash('sha256').update(content).digest('hex')
      files.push({ path: one.path, sha256, bytes: content.length, content })
    }
  }
  return { files, leftOut }
}

const foundFile = (file: File, path: string): Found => ({
  path,
  bytes: file.size,
  read: async () => new Uint8Array(await file.arrayBuffer()),
})

/** As the client does it. */
const isHidden = (path: string): boolean =>
  path.split('/').some((name) => name === '__MACOSX' || name === 'node_modules' || /^\.[^.]/.test(name))

function reasonAgainst({ path, bytes }: Found): string | undefined {
  if (documentFormatOf(path) === undefined && !isAccessFile(path))
    return `Only ${DOCUMENT_EXTENSIONS} are read.`
  if (bytes > DOCUMENT_MAX_BYTES) return `It is larger than ${byteSize(DOCUMENT_MAX_BYTES)}.`
  const problem = problemWithPath(path)
  return problem === undefined ? undefined : `Its name ${problem}.`
}

async function filesOfZip(archive: File, room: { bytes: number }, isHeld: IsHeld): Promise<Found[]> {
  const entries = entriesOf(archive.name, new Uint8Array(await archive.arrayBuffer())).filter(
    ({ name }) => !isHidden(name),
  )
  for (const { name, isFolder } of entries) {
    const problem = problemWithPath(isFolder ? name.slice(0, -1) : name)
    // It was made by hand, and so may be the rest of it.
    if (problem !== undefined) throw refusal(`${archive.name} has a name that ${problem}: ${shownPath(name)}`)
  }
  const files = entries.filter(({ isFolder }) => !isFolder)
  if (files.some(({ isEncrypted }) => isEncrypted)) {
    throw refusal(`${archive.name} is protected by a password`, 'Pack it without one.')
  }
  const names = files.map(({ name }) => name)
  const skipped = skippedFolder(names, isHeld).length
  return files.map((entry) => ({
    path: entry.name.slice(skipped),
    bytes: 0,
    read: () => unpack(archive.name, entry, room),
  }))
}

/** Whether the source has something in this folder, outermost in it. */
type IsHeld = (folder: string) => boolean

/**
 * The one folder that all lie in: its name is that of the archive. Not where a folder says who sees it: outside of it others
 * would see what is in it.
 */
function skippedFolder(names: readonly string[], isHeld: IsHeld): string {
  const [, first] = /^([^/]+)\//.exec(names[0] ?? '') ?? []
  if (first === undefined || !names.every((name) => name.startsWith(`${first}/`))) return ''
  return names.some(isMeantAsAccessFile) || isHeld(first) ? '' : `${first}/`
}

function entriesOf(name: string, content: Uint8Array): ZipEntry[] {
  try {
    return readZip(content)
  } catch (error) {
    throw error instanceof BrokenZip ? refusal(`${name} is not a zip archive, or damaged`) : error
  }
}

const inflate = promisify(inflateRaw)

async function unpack(archive: string, entry: ZipEntry, room: { bytes: number }): Promise<Uint8Array> {
  const tooLarge = () =>
    refusal(
      `${archive} becomes too large when it is unpacked`,
      'Pack fewer files, or sync the folder: svc docs sync.',
    )
  try {
    const data = entry.data()
    const most = Math.min(room.bytes, DOCUMENT_MAX_BYTES, RATIO_FREE_BYTES + RATIO_MAX * data.length)
    const content = entry.isDeflated ? await inflate(data, { maxOutputLength: Math.max(1, most) }) : data
    if (content.length > room.bytes) throw tooLarge()
    room.bytes -= content.length
    return content
  } catch (error) {
    if (error instanceof ServiceError) throw error
    if ((error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge()
    throw refusal(`${archive} is damaged: ${shownPath(entry.name)}`)
  }
}
