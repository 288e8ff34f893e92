/** Arguments as models write them: null for what they leave out, and as text what should be a number, a list or an object. */
import type { Tool } from './tool.ts'

export function readArguments({ listed }: Pick<Tool, 'listed'>, input: unknown): unknown {
  if (typeof input !== 'object' || input === null) return {}
  const types = (listed.inputSchema.properties ?? {}) as Record<string, { type?: string }>
  const given = Object.entries(input)
    .map(([name, value]) => [
      name,
      readValue(Object.hasOwn(types, name) ? types[name]?.type : undefined, value),
    ])
    .filter(([, value]) => value !== null)
  return Object.fromEntries(given)
}

/** Text stays text where text is wanted, and where it reads as something else than what is wanted. */
function readValue(type: string | undefined, value: unknown): unknown {
  if (typeof value !== 'string' || type === undefined || type === 'string') return value
  try {
    const read: unknown = JSON.parse(value)
    return read === null || typeOf(read) === (type === 'integer' ? 'number' : type) ? read : value
  } catch {
    return value
  }
}

const typeOf = (value: unknown): string => (Array.isArray(value) ? 'array' : typeof value)
