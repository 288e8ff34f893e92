/** Files that are synced to a documents source, as the client does it. */
import { createHash } from 'node:crypto'
import type * as z from 'zod'
import type { Call } from '../../src/client/http-client.ts'
import { showDocuments, syncDocuments } from '../../src/contracts/documents.ts'
import { LOAD_PART_BYTES } from '../../src/contracts/limits.ts'
import { showLoad, uploadLoadPart, type Load } from '../../src/contracts/loads.ts'
import { takeLoadSteps } from './loads.ts'
import type { TestSystem } from './system.ts'

export type Files = Readonly<Record<string, string | Uint8Array>>

export const listOf = (files: Files) =>
  Object.entries(files).map(([path, content]) => ({
    path,
    sha256: createHash('sha256').update(content).digest('hex'),
    bytes: Buffer.byteLength(content),
  }))

/** What is missing, one file behind the other. */
export const contentOf = (files: Files, missing: readonly string[]): Buffer =>
  Buffer.concat(missing.map((path) => Buffer.from(files[path]!)))

export async function uploadMissing(
  call: Call,
  { id, received }: z.output<typeof Load>,
  content: Buffer,
): Promise<void> {
  for (let offset = received; offset < content.length; offset += LOAD_PART_BYTES) {
    const body = new Uint8Array(content.subarray(offset, offset + LOAD_PART_BYTES))
    await call(uploadLoadPart, { load_id: id, offset, body })
  }
}

/** Sends what is missing, and takes all steps; says what became of it. */
export async function syncFiles(
  system: Pick<TestSystem, 'system'>,
  call: Call,
  name: string,
  files: Files,
  { keep = false } = {},
) {
  const begun = await call(syncDocuments, { name, files: listOf(files), keep })
  if (!begun.sync) return { ...begun, load: null, held: await call(showDocuments, { name }) }
  await uploadMissing(call, begun.sync, contentOf(files, begun.missing))
  await takeLoadSteps(system)
  const load = await call(showLoad, { load_id: begun.sync.id })
  return { ...begun, load, held: await call(showDocuments, { name }) }
}
