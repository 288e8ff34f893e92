/** Reads JSON of others. A parser's message quotes the text, so none is passed on. */

/** Undefined if it is no JSON. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Undefined if it is no JSON object. */
export function readJsonObject(text: string): Record<string, unknown> | undefined {
  const value = readJson(text)
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined
}
