/** The address of an instance as people type it: an origin, and encrypted unless it stays on this machine. */
import { usage } from './usage.ts'

export function apiAddress(typed: string, named: string): URL {
  const url = urlFrom(typed.trim())
  if (!url || !['http:', 'https:'].includes(url.protocol)) {
    throw usage(`${named} is no http(s) address`, 'Write it whole: --api-url https://api.example.com')
  }
  if (url.username !== '' || url.password !== '') {
    throw usage(`${named} must not carry a user or a password`, 'The token goes into --api-key -')
  }
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    throw usage(`${named} must end after the host`, `Write: --api-url ${url.origin}`)
  }
  return url
}

/** `URL.parse` for Node 20, which the client has to run on. */
export const urlFrom = (text: string): URL | null => (URL.canParse(text) ? new URL(text) : null)

/** Nobody listens in: https, or http that stays on this computer (RFC 6761, 6.3; RFC 6890). */
export const isConfidential = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' ||
  (protocol === 'http:' && /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname))
