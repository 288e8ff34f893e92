/** Compresses pages for readers who came by themselves; see `isSafeToCompress` for everybody else. */
import type { Next } from 'hono'
import { compress, encodingFor, isSafeToCompress } from '../pages/compress.ts'
import type { PageContext } from './context.ts'

/** Below it fits one packet anyway. */
const MIN_BYTES = 1_200

export async function compressPages(c: PageContext, next: Next): Promise<void> {
  await next()
  const { headers, status } = c.res
  if (!headers.get('content-type')?.startsWith('text/html') || headers.has('content-encoding')) return
  headers.append('vary', 'accept-encoding, sec-fetch-site')
  const encoding = encodingFor(c.req.header('accept-encoding'))
  if (encoding === undefined || !isSafeToCompress(c.req.raw)) return
  const page = new Uint8Array(await c.res.arrayBuffer())
  const isSmall = page.length < MIN_BYTES
  c.res = new Response(isSmall ? page : new Uint8Array(await compress(page, encoding)), { status, headers })
  if (!isSmall) c.res.headers.set('content-encoding', encoding)
}
