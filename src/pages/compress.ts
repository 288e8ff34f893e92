/** Compression of pages and of their assets. */
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

type Encoding = 'br' | 'gzip'

/** The better one of those a browser accepts; `q=0` means not this one. */
export function encodingFor(accepted: string | undefined): Encoding | undefined {
  const names = (accepted ?? '')
    .split(',')
    .map((part) => part.trim().toLowerCase())
    .filter((part) => !/;\s*q=0(?:\.0*)?$/.test(part))
    .map((part) => part.split(';', 1)[0]?.trim())
  return (['br', 'gzip'] as const).find((one) => names.includes(one))
}

/** Five halves a page in a millisecond; more costs the reader more waiting than it saves. */
const PAGE_QUALITY = 5

const brotliAsync = promisify(brotliCompress)
const gzipAsync = promisify(gzip)

export const compress = (
  body: string | Uint8Array,
  encoding: Encoding,
  quality = PAGE_QUALITY,
): Promise<Buffer> =>
  encoding === 'br'
    ? brotliAsync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } })
    : gzipAsync(body, { level: Math.min(9, quality) })

/**
 * BREACH: whoever makes a browser ask for a page that repeats their text, and sees how long the compressed answer is, can
 * guess what else is on it, such as the token of its forms. So nothing is compressed that another site may have asked
 * for: browsers say so by `Sec-Fetch-Site`, also through redirects, and pages cannot forge it. Answers to a form may show
 * a new secret, and are never compressed.
 */
export const isSafeToCompress = (request: Request): boolean =>
  request.method === 'GET' && ['same-origin', 'none'].includes(request.headers.get('sec-fetch-site') ?? '')
