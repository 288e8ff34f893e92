/** Values as they arrive after a way through JSON, without the way: for small ones it takes most of the time of a call. */

/** As `JSON.parse(JSON.stringify(value))` would make it; undefined where that has no text. */
export const jsonCopy = (value: unknown): unknown => copyOf(value, '')

/** `name`: where it is, which a form of its own may depend on. */
function copyOf(value: unknown, name: string | number): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      // Zero has no sign in JSON.
      return Number.isFinite(value) ? value + 0 : null
    case 'object':
      return value === null ? null : copyObject(value, name)
    case 'undefined':
    case 'function':
    case 'symbol':
    case 'bigint':
      return throughJson(value, name)
  }
}

function copyObject(value: object, name: string | number): unknown {
  if (!isPlain(value)) return throughJson(value, name)
  if (Array.isArray(value)) return Array.from(value, (item: unknown, at) => copyOf(item, at) ?? null)
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    const inner = (value as Record<string, unknown>)[key]
    if (inner === undefined) continue
    const copied = copyOf(inner, key)
    if (copied !== undefined) copy[key] = copied
  }
  return copy
}

/** Whatever has a form of its own in JSON, as dates have, or a key that cannot be assigned, is left to JSON itself. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null && !Array.isArray(value)) return false
  return !('toJSON' in value) && !Object.hasOwn(value, '__proto__')
}

function throughJson(value: unknown, name: string | number): unknown {
  const parsed = JSON.parse(JSON.stringify({ [name]: value })) as Record<string, unknown>
  // What JSON leaves out may be named as something that every object inherits.
  return Object.hasOwn(parsed, name) ? parsed[name] : undefined
}

/** Whether the JSON of a value certainly has no more bytes than this, without making it. */
export const certainlyFits = (value: unknown, bytes: number): boolean => bytesLeft(value, bytes) >= 0

/** `\u0000`: the longest form of a character. */
const CHARACTER_BYTES = 6
const SCALAR_BYTES = 32

function bytesLeft(value: unknown, bytes: number): number {
  if (bytes < 0) return bytes
  if (typeof value === 'string') return bytes - SCALAR_BYTES - value.length * CHARACTER_BYTES
  if (typeof value !== 'object' || value === null) return bytes - SCALAR_BYTES
  if (!isPlain(value)) return -1
  let left = bytes - SCALAR_BYTES
  if (Array.isArray(value)) {
    for (const item of value) left = bytesLeft(item, left)
    return left
  }
  for (const name of Object.keys(value)) {
    left = bytesLeft((value as Record<string, unknown>)[name], left - name.length * CHARACTER_BYTES)
  }
  return left
}
