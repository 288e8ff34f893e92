/** Reads the body of a request, never more of it than is allowed. */
import { gunzip } from 'node:zlib'
import { promisify } from 'node:util'
import { byteSize } from '../contracts/byte-size.ts'
import { ServiceError } from '../contracts/errors.ts'
import { mediaType, typesOf } from '../contracts/media-types.ts'
import type { Operation } from '../contracts/operation.ts'
import type { Deadline } from './context.ts'
import { isKnownToFit } from '../contracts/known-to-fit.ts'

type Takes = NonNullable<Operation['http']['takes']>

/** Told of everything that is kept in memory; may refuse it. */
export type OnBytes = (count: number) => void

/** `deadline`: after it nobody waits for the body any more, so it is not read to its end. */
export type Reading = { readonly onBytes?: OnBytes | undefined; readonly deadline?: Deadline | undefined }

const inflate = promisify(gunzip)

export const tooLarge = (limit: number) =>
  new ServiceError('TOO_LARGE', `The body is larger than ${byteSize(limit)}`)

/**
 * Without a stream where the length is known and nobody counts, which is most of the time. A Content-Length that is too
 * large is refused at once; it may be missing, so what comes is counted too.
 */
export async function readBytes(
  request: Request,
  limit: number,
  { onBytes, deadline }: Reading = {},
): Promise<Uint8Array<ArrayBuffer>> {
  if (!onBytes && isKnownToFit(request, limit)) return new Uint8Array(await request.arrayBuffer())
  if (Number(request.headers.get('content-length')) > limit) throw tooLarge(limit)
  if (!request.body) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of until(deadline?.(), request.body)) {
    size += chunk.length
    if (size > limit) throw tooLarge(limit)
    onBytes?.(chunk.length)
    chunks.push(chunk)
  }
  return joined(chunks, size)
}

/** Whoever stops reading, or is late, ends the stream. */
async function* until(
  deadline: AbortSignal | undefined,
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader()
  const end = () => void reader.cancel().catch(() => {})
  deadline?.addEventListener('abort', end)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      deadline?.throwIfAborted()
      if (done) return
      yield value
    }
  } finally {
    deadline?.removeEventListener('abort', end)
    end()
  }
}

function joined(chunks: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}

/** A body that is not JSON: its bytes, inflated, and its type. */
export async function readRawBody(
  request: Request,
  takes: Takes,
  reading: Reading = {},
): Promise<{ body: Uint8Array; contentType: string }> {
  const contentType = mediaType(request.headers.get('content-type'))
  refuseOtherTypes(takes, contentType)
  const bytes = await readBytes(request, takes.maxBytes, reading)
  const body = await decoded(bytes, request.headers.get('content-encoding'), takes.maxBytes)
  if (body !== bytes) reading.onBytes?.(body.length)
  return { body, contentType }
}

export function refuseOtherTypes({ type }: Takes, given: string): void {
  const types = typesOf(type)
  if (types.includes(given)) return
  throw new ServiceError('INVALID_REQUEST', `The body must be ${types.join(' or ')}`, {
    hint: `Send the header \`Content-Type: ${types[0]}\`.`,
  })
}

async function decoded(bytes: Uint8Array, encoding: string | null, limit: number): Promise<Uint8Array> {
  const name = (encoding ?? '').trim().toLowerCase()
  if (name === '' || name === 'identity') return bytes
  if (name !== 'gzip' && name !== 'x-gzip') {
    throw new ServiceError('INVALID_REQUEST', 'The body must be encoded with gzip, or not at all')
  }
  try {
    // Stops as soon as more comes out: a small body may inflate to any size.
    const { buffer, byteOffset, length } = await inflate(bytes, { maxOutputLength: limit })
    return new Uint8Array(buffer, byteOffset, length)
  } catch (cause) {
    if ((cause as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(limit)
    throw new ServiceError('INVALID_REQUEST', 'The body is not valid gzip', { cause })
  }
}
