/** Inflates and reads an archive of source files. Runs in a thread: it may be made to take as long as possible. */
import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { SOURCE_FILES_MAX, SOURCE_MAX_BYTES } from '../../contracts/limits.ts'
import { readTar } from '../../contracts/read-tar.ts'

/** Where a file lies in the inflated archive: the bytes themselves change threads as one. */
export type PlacedFile = {
  readonly path: string
  readonly sha256: string
  readonly offset: number
  readonly length: number
  readonly isExecutable: boolean
}

export type UnpackedArchive =
  | { readonly tar: ArrayBuffer; readonly files: readonly PlacedFile[]; readonly problems: readonly string[] }
  | 'too large'

/** A header, one for a long name, and what fills the last block, for each file. */
const INFLATED_MAX_BYTES = SOURCE_MAX_BYTES + SOURCE_FILES_MAX * 4 * 512

export function unpackArchive(archive: Uint8Array): UnpackedArchive {
  let tar: Uint8Array<ArrayBuffer>
  try {
    // Stops as soon as more comes out: a small archive may inflate to any size.
    // Copied, because bytes of the inflater's own pool cannot change threads.
    tar = new Uint8Array(gunzipSync(archive, { maxOutputLength: INFLATED_MAX_BYTES }))
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') return 'too large'
    return { tar: new ArrayBuffer(0), files: [], problems: ['The archive is not a valid gzip file'] }
  }
  const { files, problems } = readTar(tar)
  if (files.reduce((sum, { content }) => sum + content.length, 0) > SOURCE_MAX_BYTES) return 'too large'
  return {
    tar: tar.buffer,
    files:
      problems.length > 0
        ? []
        : files.map(({ path, content, isExecutable }) => ({
            path,
            isExecutable,
            sha256: createHash('sha256').update(content).digest('hex'),
            offset: content.byteOffset,
            length: content.length,
          })),
    problems,
  }
}
