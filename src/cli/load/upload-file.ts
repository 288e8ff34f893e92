/** Uploads a file in parts. A part that was sent twice is stored once, so whatever was interrupted goes on. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { byteSize } from '../../contracts/byte-size.ts'
import { ServiceError, type ErrorCode } from '../../contracts/errors.ts'
import { LOAD_MAX_BYTES, LOAD_PART_BYTES } from '../../contracts/limits.ts'
import type { Output } from '../../contracts/operations.ts'
import type { CommandContext } from '../command-context.ts'
import { retryPause } from '../retry-pause.ts'
import { usageError } from '../usage-error.ts'

export type Load = Output<'createLoad'>

/** With the waits between them about five minutes: as long as a server takes to be replaced. */
const ATTEMPTS = 14

export async function checkFile(path: string): Promise<{ bytes: number }> {
  const found = await stat(path).catch(() => undefined)
  if (!found?.isFile()) throw usageError(`There is no file ${path}`, 'Check the name.')
  if (found.size === 0) throw usageError(`${path} is empty`, 'It needs a header and at least one row.')
  if (found.size > LOAD_MAX_BYTES) {
    throw new ServiceError(
      'TOO_LARGE',
      `${path} has ${byteSize(found.size)}; a load takes ${byteSize(LOAD_MAX_BYTES)}`,
      {
        hint: 'Split it, and add the other parts with --append.',
      },
    )
  }
  return { bytes: found.size }
}

export async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

export async function uploadFile(
  ctx: CommandContext,
  load: Load,
  path: string,
  progress: (load: Load) => void,
): Promise<Load> {
  const file = await open(path)
  try {
    let now = load
    const part = Buffer.alloc(LOAD_PART_BYTES)
    while (now.state === 'uploading' && now.received < now.bytes) {
      progress(now)
      const { bytesRead } = await file.read(part, 0, part.length, now.received)
      if (bytesRead === 0) throw usageError(`${path} became shorter while it was read`, 'Load it again.')
      now = await uploadPart(ctx, now, new Uint8Array(part.subarray(0, bytesRead)))
    }
    return now
  } finally {
    await file.close()
  }
}

/** After a lost answer the server says how much it has. */
export async function uploadPart(
  ctx: CommandContext,
  load: Load,
  body: Uint8Array<ArrayBuffer>,
): Promise<Load> {
  const pause = retryPause(ctx, { attempts: ATTEMPTS })
  const load_id = load.id
  for (;;) {
    try {
      return await ctx.callOperation('uploadLoadPart', { load_id, offset: load.received, body })
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'CONFLICT') {
        const now = await ctx.callOperation('showLoad', { load_id })
        if (now.received > load.received) return now
      }
      await pause.afterFailure(error)
    }
  }
}

/** Of a server that is there and has no room at the moment. */
const BUSY: readonly unknown[] = ['RATE_LIMITED', 'OVERLOADED', 'UNAVAILABLE'] satisfies ErrorCode[]

/**
 * A server that is being replaced, or is at its limit, is asked again. With `isFirst` not before it has said anything: a wrong
 * address shows at once.
 */
export async function patiently<T>(
  ctx: CommandContext,
  call: () => Promise<T>,
  { isFirst = false } = {},
): Promise<T> {
  const pause = retryPause(ctx, { attempts: ATTEMPTS })
  let isThere = !isFirst
  for (;;) {
    try {
      return await call()
    } catch (error) {
      isThere ||= error instanceof ServiceError && BUSY.includes(error.code)
      if (!isThere) throw error
      await pause.afterFailure(error)
    }
  }
}
