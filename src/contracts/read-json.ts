/** Reads JSON of others. A parser's message quotes the text, so none is passed on. */

/** Undefined if it is no JSON. */
export function readJson(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}

/** Undefined if it is no JSON object. */
export function readJsonObject(text: string | undefined): Record<string, unknown> | undefined {
  const value = readJson(text)
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined
}

/** RFC 8259, 8.1: JSON between systems is UTF-8; what is broken is no JSON, and is not repaired. */
export function readUtf8JsonObject(bytes: Uint8Array): Record<string, unknown> | undefined {
  try {
    return readJsonObject(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return undefined
  }
}
