/** The digest of a JSON document, independent of its formatting. */
import { createHash } from 'node:crypto'

export function documentDigest(document: unknown): string {
  return createHash('sha256').update(canonicalJson(document)).digest('base64url')
}

/** RFC 8785: no whitespace, members in the order of their UTF-16 code units, numbers and strings as JavaScript writes them. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`)
    return `{${members.join()}}`
  }
  const text: string | undefined = JSON.stringify(value)
  // A number that JSON cannot hold would be written as null, and two documents become one.
  if (text === undefined || (typeof value === 'number' && !Number.isFinite(value))) {
    throw new TypeError('Not a JSON document')
  }
  return text
}
