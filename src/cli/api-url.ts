/** Parses the URL of an instance as people type it: an origin only. */
import { usageError } from './usage-error.ts'

export function parseApiUrl(typed: string, named: string): URL {
  const url = parseUrl(typed.trim())
  if (!url || !['http:', 'https:'].includes(url.protocol)) {
    throw usageError(`${named} is not an http(s) URL`, 'Use the full URL: --api-url https://api.example.com')
  }
  if (url.username !== '' || url.password !== '') {
    throw usageError(`${named} must not contain a user or password`, 'Pass the token with --api-key -')
  }
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    throw usageError(`${named} must not have a path`, `Use: --api-url ${url.origin}`)
  }
  return url
}

/** `URL.parse` for Node 20, which the client has to run on. */
export const parseUrl = (text: string): URL | null => (URL.canParse(text) ? new URL(text) : null)

/** https, or http that stays on this machine. */
export const isConfidential = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))

/** RFC 6761, 6.3; RFC 6890. */
export const isLoopback = (hostname: string): boolean =>
  /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
