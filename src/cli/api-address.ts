/** The address of an instance as people type it: an origin, and encrypted unless it stays on this machine. */
import { usage } from './usage.ts'

export function apiAddress(typed: string, named: string): URL {
  const text = typed.trim()
  const url = URL.canParse(text) ? new URL(text) : undefined
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

/** RFC 6761, 6.3 and RFC 5735, 3: what never leaves the machine. */
export const staysHere = ({ hostname }: URL): boolean =>
  hostname === 'localhost' ||
  hostname.endsWith('.localhost') ||
  hostname === '[::1]' ||
  /^127(\.\d+){3}$/.test(hostname)

export const isConfidential = (url: URL): boolean => url.protocol === 'https:' || staysHere(url)
