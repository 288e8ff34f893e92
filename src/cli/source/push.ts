/** Pushes files: asks which of them the server has not got, sends those in archives, and makes a revision of all. */
import { gzipSync } from 'node:zlib'
import { ServiceError } from '../../contracts/errors.ts'
import type { Output } from '../../contracts/operations.ts'
import { writeTar } from '../../contracts/write-tar.ts'
import type { CommandContext } from '../command-context.ts'
import type { SourceFile } from './read-folder.ts'

/** Of one request: small enough for its time limit on a slow line. */
const ARCHIVE_BYTES = 4 * 1024 * 1024
/** What was there may have been deleted before it was named; then they are asked for again. */
const ATTEMPTS_MAX = 3
const WAIT_MAX_SECONDS = 30

export type Pushed = Output<'createRevision'> & { readonly sent_files: number; readonly sent_bytes: number }

export async function pushFiles(
  ctx: CommandContext,
  pushing: { readonly alias: string; readonly base: string | undefined; readonly replace: boolean },
  files: readonly SourceFile[],
  progress: (sentBytes: number, allBytes: number) => void,
): Promise<Pushed> {
  const { alias, base, replace } = pushing
  let [sentFiles, sentBytes] = [0, 0]
  let baseRevision = base
  for (let attempt = 1; ; attempt++) {
    const missing = await findMissing(ctx, alias, files)
    const bytes = missing.reduce((sum, { content }) => sum + content.length, 0)
    let done = 0
    for (const archive of archivesOf(missing)) {
      progress(done, bytes)
      const body = gzipSync(writeTar(archive.map((file) => ({ ...file, path: file.sha256 }))))
      await patiently(() => ctx.callOperation('uploadFiles', { alias, body }))
      for (const { content } of archive) done += content.length
      sentFiles += archive.length
    }
    sentBytes += done
    if (bytes > 0) progress(bytes, bytes)
    try {
      const named = files.map(({ path, sha256, isExecutable }) => ({
        path,
        sha256,
        executable: isExecutable,
      }))
      const revision = await ctx.callOperation('createRevision', {
        alias,
        base_revision: baseRevision,
        replace,
        files: named,
      })
      return { ...revision, sent_files: sentFiles, sent_bytes: sentBytes }
    } catch (error) {
      // The server keeps it no more, or the app is another one: then what was approved is compared all the same.
      if (baseRevision !== undefined && isUnknownBase(error)) {
        baseRevision = undefined
        continue
      }
      const isMissing = error instanceof ServiceError && error.code === 'CONFLICT' && error.problems
      if (!isMissing || attempt === ATTEMPTS_MAX) throw error
    }
  }
}

const isUnknownBase = (error: unknown): boolean =>
  error instanceof ServiceError &&
  error.code === 'INVALID_REQUEST' &&
  (error.problems ?? []).some((problem) => problem.startsWith('base_revision:'))

/** Each content once, however many files have it. */
async function findMissing(
  ctx: CommandContext,
  alias: string,
  files: readonly SourceFile[],
): Promise<SourceFile[]> {
  const byContent = new Map(files.map((file) => [file.sha256, file]))
  const { missing } = await ctx.callOperation('findMissingFiles', { alias, sha256: [...byContent.keys()] })
  return missing.flatMap((sha256) => byContent.get(sha256) ?? [])
}

function* archivesOf(files: readonly SourceFile[]): Generator<readonly SourceFile[]> {
  let [archive, bytes]: [SourceFile[], number] = [[], 0]
  for (const file of files) {
    if (archive.length > 0 && bytes + file.content.length > ARCHIVE_BYTES) {
      yield archive
      ;[archive, bytes] = [[], 0]
    }
    archive.push(file)
    bytes += file.content.length
  }
  if (archive.length > 0) yield archive
}

/** Others of the organization may be pushing. */
async function patiently<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call()
    } catch (error) {
      const seconds =
        error instanceof ServiceError && error.code === 'RATE_LIMITED' && error.retryAfterSeconds
      if (!seconds || seconds > WAIT_MAX_SECONDS || attempt === ATTEMPTS_MAX) throw error
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
    }
  }
}
