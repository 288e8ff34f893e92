/** Sends files as the content of a sync: one behind the other, in parts. A file that has changed meanwhile ends it. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { LOAD_PART_BYTES } from '../../contracts/limits.ts'
import type { CommandContext } from '../command-context.ts'
import { patiently, uploadPart, type Load } from '../load/upload-file.ts'
import { usageError } from '../usage-error.ts'
import type { Document } from './read-folder.ts'

export async function sendFiles(
  ctx: CommandContext,
  sync: Load,
  root: string,
  files: readonly Document[],
  progress: (load: Load) => void,
): Promise<Load> {
  let now = sync
  let [part, length, offset] = [Buffer.alloc(LOAD_PART_BYTES), 0, 0]
  const send = async () => {
    // What was sent before a kill is there.
    const start = offset - length
    while (now.state === 'uploading' && now.received < offset) {
      progress(now)
      now = await uploadPart(ctx, now, new Uint8Array(part.subarray(now.received - start, length)))
    }
    ;[part, length] = [Buffer.alloc(LOAD_PART_BYTES), 0]
  }
  for (const file of files) {
    const hash = createHash('sha256')
    let bytes = 0
    for await (const chunk of createReadStream(join(root, file.path))) {
      const content = chunk as Buffer
      hash.update(content)
      bytes += content.length
      // Before it would stand in the place of the next one.
      if (bytes > file.bytes) break
      for (let at = 0; at < content.length;) {
        const taken = content.copy(part, length, at)
        at += taken
        length += taken
        offset += taken
        if (length === part.length) await send()
      }
    }
    if (bytes !== file.bytes || hash.digest('hex') !== file.sha256) {
      await patiently(ctx, () => ctx.callOperation('cancelLoad', { load_id: sync.id }))
      throw usageError(`${file.path} was changed while it was sent`, 'Sync again when it is complete.')
    }
  }
  if (length > 0) await send()
  return now
}
